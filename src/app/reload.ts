import { isDeepStrictEqual } from 'node:util';
import { Injectable, Logger } from '@nestjs/common';
import { type Policies, policyFor, PolicyInForce, warnIfAuthOnly } from '../authz/policy-in-force.js';
import { type AuthConfig, type Config, oauthInUse } from '../config/config.js';
import { RegistriesRepository } from '../registries/registries.repository.js';
import { OpenEntries } from '../visibility/open-entries.queries.js';
import {
  type CatalogueConfig,
  type Changes,
  ConfigurationConflict,
  ConfiguredResources,
} from './configured-resources.js';

/** Logs how many entries are readable without a token (contract §6.1), which may be more than intended. */
@Injectable()
export class OpenRegistries {
  private readonly logger = new Logger('authz');

  constructor(
    private readonly registries: RegistriesRepository,
    private readonly entries: OpenEntries,
  ) {}

  /** Logs one line for each registry with anonymous access, and one for each key. */
  async report({ auth }: Pick<Config, 'auth'>): Promise<void> {
    if (!oauthInUse(auth)) return;
    await this.reportAll().catch((error: unknown) =>
      this.logger.warn({ err: error }, 'Entries visible without a token could not be counted'),
    );
  }

  private async reportAll(): Promise<void> {
    for (const { name } of await this.registries.opening()) {
      const { anonymousClaims = null, keys = [] } = (await this.registries.findByName(name)) ?? {};
      if (anonymousClaims) {
        const opened = await this.entries.count(name, anonymousClaims);
        this.logger.warn(
          { registry: name, claims: anonymousClaims, entries: opened },
          `The registry ${name} opens ${opened} of its entries to callers without a token`,
        );
      }
      for (const key of keys) {
        const opened = await this.entries.count(name, key.claims);
        this.logger.log(
          { registry: name, key: key.name, claims: key.claims, entries: opened },
          `The registry ${name} opens ${opened} of its entries to the holders of the key ${key.name}`,
        );
      }
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
   * @throws ConfigurationConflict if nothing was changed. After any other error the catalogue may have changed, and
   *   both policies must permit an action until a reload succeeds.
   */
  async apply(started: Config, next: Config): Promise<Reloaded> {
    const waiting = waitingSections(started, next);
    const config = merged(this.taken ?? started.auth, next);
    const before = this.policy.inForce;
    const after = policyFor(config.auth);
    // The new rules may expect claims that only the new `auth.oauth` produces, so until the restart they can only
    // withdraw access.
    const mustWait = waiting.includes('auth.oauth');
    const policies: Policies = mustWait ? [...this.settled, after] : [after];
    this.policy.narrow(policies);
    try {
      const changes = await this.resources.apply(config, false);
      this.policy.replace(policies);
      if (!mustWait) this.settled = policies;
      this.taken = config.auth;
      if (changes.length > 0) await this.open.report(config);
      if (changes.some((change) => change.startsWith('auth.authz'))) warnIfAuthOnly(config.auth);
      return { changes, waiting };
    } catch (error) {
      if (error instanceof ConfigurationConflict) this.policy.replace(before);
      throw error;
    }
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
