import { isDeepStrictEqual } from 'node:util';
import { Injectable, Logger } from '@nestjs/common';
import { type Policies, policyFor, PolicyInForce, warnIfAuthOnly } from '../authz/policy-in-force.js';
import { type AuthConfig, type Config, oauthInUse } from '../config/config.js';
import { OpenAccess } from '../registries/open-access.js';
import { RegistriesRepository } from '../registries/registries.repository.js';
import { OpenEntries } from '../visibility/open-entries.queries.js';
import { type CatalogueConfig, type Changes, ConfiguredResources } from './configured-resources.js';

/** Registries created through the API whose entries are counted: more would delay the start. */
const MAX_COUNTED = 20;
const MAX_NAMED = 20;

/** Logs how many entries are readable without a token (contract §6.1), which may be more than intended. */
@Injectable()
export class OpenRegistries {
  private readonly logger = new Logger('authz');

  constructor(
    private readonly registries: RegistriesRepository,
    private readonly entries: OpenEntries,
    private readonly access: OpenAccess,
  ) {}

  /**
   * Logs one line for each registry with anonymous access, and one for each key. Registries created through the API
   * whose access is ignored share one line.
   */
  async report({ auth }: Pick<Config, 'auth'>): Promise<void> {
    if (!oauthInUse(auth)) return;
    await this.reportAll().catch((error: unknown) =>
      this.logger.warn({ err: error }, 'Entries visible without a token could not be counted'),
    );
  }

  private async reportAll(): Promise<void> {
    const all = await this.registries.opening();
    const made = all.filter(({ origin }) => origin === 'api');
    const isAllowed = this.access.isAllowed('api');
    for (const { name, origin } of all) if (origin === 'config') await this.reportOne(name);
    if (isAllowed) for (const { name } of made.slice(0, MAX_COUNTED)) await this.reportOne(name);
    const others = made.slice(isAllowed ? MAX_COUNTED : 0).map(({ name }) => name);
    if (others.length > 0)
      this.logger.warn(
        { registries: others.slice(0, MAX_NAMED), count: others.length },
        isAllowed
          ? 'More registries created through the API are open to callers without a token'
          : 'Registries created through the API have anonymous access or keys, which are ignored without adminOpenAccess',
      );
  }

  private async reportOne(registry: string): Promise<void> {
    const { anonymousClaims = null, keys = [] } = (await this.registries.findByName(registry)) ?? {};
    if (anonymousClaims) {
      const opened = await this.entries.count(registry, anonymousClaims);
      this.logger.warn(
        { registry, claims: anonymousClaims, entries: opened },
        `The registry ${registry} opens ${opened} of its entries to callers without a token`,
      );
    }
    for (const { name, claims } of keys) {
      const opened = await this.entries.count(registry, claims);
      this.logger.log(
        { registry, key: name, claims, entries: opened },
        `The registry ${registry} opens ${opened} of its entries to the holders of the key ${name}`,
      );
    }
  }
}

/** The result of a reload. */
export interface Reloaded {
  readonly changes: Changes;
  /** Changed sections that take effect only after a restart. */
  readonly waiting: readonly string[];
}

/**
 * Applies a changed configuration (contract §1): sources, registries and `auth.authz`. The catalogue and the policy
 * cannot change atomically, so in the meantime both the old and the new policy must permit an action.
 */
@Injectable()
export class Reload {
  /** The policies of the last configuration that was applied completely. */
  private settled: Policies;
  /** The configuration applied last; undefined before the first reload. */
  private taken: AuthConfig | undefined;

  constructor(
    private readonly resources: ConfiguredResources,
    private readonly policy: PolicyInForce,
    private readonly open: OpenRegistries,
  ) {
    this.settled = policy.inForce;
  }

  /**
   * @param started the configuration that the process started with.
   * @param next the current file, validated.
   * @throws any error of the database. The catalogue may have changed, and both policies must permit an action until a
   *   reload succeeds.
   */
  async apply(started: Config, next: Config): Promise<Reloaded> {
    const waiting = waitingSections(started, next);
    const config = merged(this.taken ?? started.auth, next);
    const after = policyFor(config.auth);
    // The new rules may expect claims that only the new `auth.oauth` produces, so until the restart they can only
    // withdraw access.
    const mustWait = waiting.includes('auth.oauth');
    const policies: Policies = mustWait ? [...this.settled, after] : [after];
    this.policy.narrow(policies);
    const changes = await this.resources.apply(config, false);
    this.policy.replace(policies);
    if (!mustWait) this.settled = policies;
    this.taken = config.auth;
    if (changes.length > 0) await this.open.report(config);
    if (changes.some((change) => change.startsWith('auth.authz'))) warnIfAuthOnly(config.auth);
    return { changes, waiting };
  }
}

// A new mode and its rules take effect only after a restart: the rules have a different meaning in the old mode.
function merged({ authz, ...others }: AuthConfig, next: Config): CatalogueConfig {
  const rules = others.mode === next.auth.mode ? next.auth.authz : authz;
  return {
    auth: { ...others, ...(rules ? { authz: rules } : {}) },
    sources: next.sources,
    registries: next.registries,
  };
}

/** Returns the names of the changed sections that a reload does not apply, without their values, which may be secret. */
function waitingSections(started: Config, next: Config): string[] {
  const takesRules = started.auth.mode === next.auth.mode;
  const parts = ({ auth: { mode, oauth, authz }, ...others }: Config) => {
    const rest = Object.entries(others).filter(([name]) => !['sources', 'registries'].includes(name));
    return new Map<string, unknown>([
      ['auth.mode', mode],
      ['auth.oauth', oauth],
      ['auth.authz', takesRules ? null : authz],
      ...rest,
    ]);
  };
  const before = parts(started);
  return [...parts(next)]
    .filter(([name, part]) => !isDeepStrictEqual(part, before.get(name)))
    .map(([name]) => name);
}
