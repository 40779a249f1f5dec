import type { EntityManager } from 'typeorm';
import type { ChangeEvent } from '../audit/audit-trail.js';
import type { Claims } from '../claims/claims.js';
import type { Config } from '../config/config.js';

/** The changes made by a startup or reload, such as `source catalog: created`. */
export type Changes = string[];

/** The configured settings that are kept and audited in the database. */
export type DeclaredConfig = Pick<Config, 'auth' | 'sources' | 'registries' | 'webhooks' | 'admission'>;

/** The state of one startup or reload. */
export interface ConfigurationRun {
  readonly manager: EntityManager;
  readonly config: DeclaredConfig;
  readonly changes: Changes;
  /** What happened to resources created through the API. */
  readonly warnings: string[];
  /** Recorded together at the end, in a few statements. */
  readonly events: ChangeEvent[];
}

/** A source or registry before or after a change: its claims and its audited form. */
export interface AuditedForm {
  readonly claims: Claims;
  readonly form: object;
}

/** Returns the audit event for a change made by the configuration file. */
export function applied(
  type: 'source' | 'registry',
  name: string,
  before: AuditedForm | null,
  after: AuditedForm | null,
): ChangeEvent {
  return {
    action: 'config.apply',
    target: { type, name },
    claims: [before, after].flatMap((declared) => (declared ? [declared.claims] : [])),
    change: { ...(before ? { before: before.form } : {}), ...(after ? { after: after.form } : {}) },
  };
}
