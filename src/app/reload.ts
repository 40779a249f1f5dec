import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { AdmissionWebhooks } from '../admission/admission-webhooks.js';
import { OAuthInForce } from '../auth/oauth-in-force.js';
import { type Policies, policyFor, PolicyInForce, warnIfAuthOnly } from '../authz/policy-in-force.js';
import type { AuthConfig, Config, OAuthConfig } from '../config/config.js';
import { WebhookScheduler } from '../webhooks/webhook-scheduler.js';
import type { Changes } from './configuration-run.js';
import { ConfiguredResources } from './configured-resources.js';
import { OpenAccessReport } from './open-access-report.js';

/** The settings of `auth` after the last reload. */
interface AppliedRules {
  /** The settings that were applied last. */
  readonly taken: AuthConfig;
  /** The settings of the last configuration that left no rules waiting. */
  readonly settled: AuthConfig;
}

export interface Reloaded {
  /** What this reload changed, such as `source catalog: created`. */
  readonly changes: Changes;
  /** Paths of changed settings that take effect only after a restart. */
  readonly waiting: readonly string[];
}

/**
 * Applies a changed configuration (reference/commands): sources, registries, `auth.authz`, and of `auth.oauth` the
 * providers and blocked callers. The catalog and the rules cannot change atomically, so in the meantime both the old
 * and the new policy must permit an action, each based on the claims that its own providers map.
 */
@Injectable()
export class Reload {
  /** Null before the first reload. */
  private rules: AppliedRules | null = null;

  constructor(
    private readonly resources: ConfiguredResources,
    private readonly policy: PolicyInForce,
    private readonly oauth: OAuthInForce,
    private readonly open: OpenAccessReport,
    private readonly webhooks: WebhookScheduler,
    private readonly admission: AdmissionWebhooks,
  ) {}

  /**
   * @param started the configuration that the process started with.
   * @param next the current file, validated.
   * @throws any error of the database. The catalog may have changed, and both policies must permit an action until a
   *   reload succeeds.
   */
  async apply(started: Config, next: Config): Promise<Reloaded> {
    const {
      taken: { authz },
      settled,
    } = this.rules ?? { taken: started.auth, settled: started.auth };
    const auth = this.reloaded({ ...started.auth, authz }, next.auth);
    const after = policyFor(auth);
    const waiting = waitingPaths(started, next);
    // Callers without a token keep the old public paths, so until the restart the new rules can only withdraw access.
    const mustWait = waiting.includes('auth.oauth.publicPaths');
    if (mustWait && !isDeepStrictEqual(auth.authz, settled.authz)) waiting.push('auth.authz');
    const policies: Policies = mustWait ? [policyFor({ ...auth, authz: settled.authz }), after] : [after];
    this.policy.narrow(policies);
    this.oauth.narrow(auth.oauth ?? null);
    const changes = await this.resources.apply(next, waiting);
    const before = { 'auth.authz': authz, ...partsOf(this.oauth.settings) };
    const parts = { 'auth.authz': auth.authz, ...partsOf(auth.oauth) };
    // Nothing may run in between: the rules compare the claims that these providers map.
    this.oauth.replace(auth.oauth ?? null);
    this.policy.replace(policies);
    this.webhooks.replace(next.webhooks);
    this.admission.replace(next.admission.webhooks);
    this.rules = { taken: auth, settled: mustWait ? settled : auth };
    const taken = changedPaths(before, parts).filter((path) => !waiting.includes(path));
    changes.push(...taken.map((path) => `${path}: changed`));
    if (changes.length > 0) await this.open.report({ auth });
    if (taken.includes('auth.authz')) warnIfAuthOnly(auth);
    return { changes, waiting };
  }

  // A new mode takes effect only after a restart, with its rules: they have a different meaning in the old mode.
  private reloaded({ mode, authz: old }: AuthConfig, next: AuthConfig): AuthConfig {
    const isTaken = mode === next.mode;
    const oauth = isTaken ? this.oauth.reloaded(next.oauth) : this.oauth.settings;
    const authz = isTaken ? next.authz : old;
    return { mode, ...(oauth ? { oauth } : {}), ...(authz ? { authz } : {}) };
  }
}

/** The settings other than `auth.authz` that a reload applies if the mode stays the same. */
const RELOADED: ReadonlySet<string> = new Set([
  'sources',
  'registries',
  'auth.oauth.providers',
  'auth.oauth.blocked',
  'webhooks',
  'admission',
]);

type Parts = Readonly<Record<string, unknown>>;

/** Returns the paths of changed settings that a reload does not apply. Omits their values, which may be secret. */
function waitingPaths(started: Config, next: Config): string[] {
  const takesAuth = started.auth.mode === next.auth.mode;
  const parts = ({ auth, ...others }: Config): Parts => ({
    'auth.mode': auth.mode,
    ...(takesAuth ? partsOf(auth.oauth) : { 'auth.oauth': auth.oauth, 'auth.authz': auth.authz }),
    ...others,
  });
  return changedPaths(parts(started), parts(next)).filter((path) => !RELOADED.has(path));
}

function partsOf(oauth: OAuthConfig | null | undefined): Parts {
  return Object.fromEntries(
    Object.entries(oauth ?? {}).map(([name, value]) => [`auth.oauth.${name}`, value]),
  );
}

function changedPaths(before: Parts, after: Parts): string[] {
  const paths = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...paths].filter((path) => !isDeepStrictEqual(before[path], after[path]));
}
