import type { EntityManager } from 'typeorm';
import { type ChangeEvent, resourceChange } from '../audit/audit-trail.js';
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

/** Returns the audit event for a change made by the configuration file. */
export function applied(...change: Parameters<typeof resourceChange>): ChangeEvent {
  return { ...resourceChange(...change), action: 'config.apply' };
}
