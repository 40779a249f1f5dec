import { Injectable, Logger } from '@nestjs/common';
import { CONFIGURATION_ACTOR } from '../audit/audit-event.js';
import { AuditTrail } from '../audit/audit-trail.js';
import { lockConfiguration } from '../database/locks.js';
import { SourceStates } from '../sources/source-states.queries.js';
import { AppliedSettings } from './applied-settings.js';
import type { Changes, ConfigurationRun, DeclaredConfig } from './configuration-run.js';
import { differencesFrom, isDifferent } from './configured-differences.queries.js';
import { ConfiguredRegistries } from './configured-registries.js';
import { ConfiguredSources } from './configured-sources.js';

/** Applies the configuration file to the database: rows of origin `config`. */
@Injectable()
export class ConfiguredResources {
  private readonly logger = new Logger('configuration');

  constructor(
    private readonly audit: AuditTrail,
    private readonly settings: AppliedSettings,
    private readonly states: SourceStates,
    private readonly sources: ConfiguredSources,
    private readonly registries: ConfiguredRegistries,
  ) {}

  /**
   * Makes the rows match the file, in one transaction (reference/configuration): creates, changes and removes sources
   * and registries, with their entries. Rows that already match are neither locked nor written. Resources created
   * through the API never stop it: the file takes over their names and the managed source, and a removed source leaves
   * every registry. Changes to authorization, admission and webhooks are audited.
   *
   * @param waiting set for a reload, which syncs only changed sources: paths of settings that take effect after a
   *   restart.
   * @returns the changes; changes of `auth` only at startup, because each replica reloads them separately.
   */
  async apply(config: DeclaredConfig, waiting: readonly string[] | null = null): Promise<Changes> {
    const forms = await this.settings.formsOf(config);
    const { changes, warnings } = await this.audit.transaction(CONFIGURATION_ACTOR, async (manager) => {
      const run: ConfigurationRun = { manager, config, changes: [], warnings: [], events: [] };
      const differs =
        isDifferent(await differencesFrom(config, manager)) || (await this.settings.differ(manager, forms));
      if (differs) {
        // Serializes this transaction with other replicas and with changes made through the admin API.
        await lockConfiguration(manager);
        await this.write(run);
        const { auth, others, events } = await this.settings.apply(manager, forms, waiting ?? []);
        run.events.push(...events);
        run.changes.push(...others, ...(waiting ? [] : auth));
      }
      // Source content may have changed while the server was down.
      if (!waiting) await this.states.scheduleConfigured(manager);
      return { result: run, events: run.events };
    });
    for (const warning of warnings) this.logger.warn(warning);
    return changes;
  }

  private async write(run: ConfigurationRun): Promise<void> {
    const { manager, config } = run;
    // Compare again: another replica may have applied the file while this one waited for the lock.
    const { sources, registries } = await differencesFrom(config, manager);
    const managed = await this.sources.findMadeManaged(run);
    const leaving = sources.leaving.filter((id) => id !== managed?.id);
    // Load these before they lose sources: the audit trail shows their previous state.
    const found = await this.registries.load(run, registries.declared, leaving);
    // Removals come first: a removed registry may hold the last reference to a removed source, and removing a managed
    // source makes room for another one.
    await this.registries.remove(run, registries.leaving);
    await this.sources.remove(run, leaving);
    await this.sources.putAll(run, sources.declared, managed);
    await this.registries.putAll(run, found);
  }
}
