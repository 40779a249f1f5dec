import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { ClaimSetsRepository } from '../claim-sets/claim-sets.repository.js';
import { givenForm } from '../claims/claims.js';
import type { SourceConfig } from '../config/config.js';
import { hasColumns, storedIn } from '../source-kinds/settings-table.js';
import { SOURCE_SETTINGS } from '../source-kinds/source-settings.dto.js';
import { SourceStates } from './source-states.queries.js';
import { Source } from './source.entity.js';
import type { Origin } from '../config/config.js';
import { inheritClaims } from './inherited-claims.queries.js';

export interface WrittenSource {
  readonly outcome: 'created' | 'changed' | 'unchanged';
  readonly source: Source;
}

/**
 * Writes sources declared by the configuration file or the admin API. Runs inside the caller's transaction. Changed
 * claims are applied to the entries that inherit them (see `inheritClaims`). After a change to the settings or filter,
 * the next sync reads everything, and a running sync can no longer write.
 */
@Injectable()
export class SourceWriter {
  constructor(
    private readonly claimSets: ClaimSetsRepository,
    private readonly states: SourceStates,
  ) {}

  /**
   * @param found the stored source, locked; null if no source has that name. The file takes over sources created through
   *   the API, with their entries.
   * @param changedBy `personKey` of the caller; null for the configuration.
   */
  async put(
    manager: EntityManager,
    found: Source | null,
    declared: SourceConfig,
    origin: Origin,
    changedBy: Buffer | null,
  ): Promise<WrittenSource> {
    if (found) return this.change(manager, found, declared, origin, changedBy);
    const [source] = await this.createAll(manager, [declared], origin, changedBy);
    if (!source) throw new Error('A source was not created');
    return { outcome: 'created', source };
  }

  /** Creates sources that do not exist, in few statements. */
  async createAll(
    manager: EntityManager,
    declared: readonly SourceConfig[],
    origin: Origin,
    changedBy: Buffer | null,
  ): Promise<Source[]> {
    if (declared.length === 0) return [];
    const claimSets = await this.claimSets.findOrCreateAll(
      manager,
      declared.map(({ claims }) => claims),
    );
    const sources = declared.map((source, index) =>
      manager.create(Source, {
        name: source.name,
        kind: source.kind,
        ...sourceColumns(source),
        origin,
        changedBy,
        claimSet: claimSets[index],
        claimSetId: claimSets[index]?.id,
      }),
    );
    await manager.insert(Source, sources);
    await this.states.createAll(manager, sources);
    return sources;
  }

  private async change(
    manager: EntityManager,
    source: Source,
    declared: SourceConfig,
    origin: Origin,
    changedBy: Buffer | null,
  ): Promise<WrittenSource> {
    const claimSet = await this.claimSets.findOrCreate(manager, declared.claims);
    const columns = { ...sourceColumns(declared), origin, claimSetId: claimSet.id };
    if (hasColumns<Source>(source, columns)) return { outcome: 'unchanged', source };
    const { intervalMs } = columns;
    const hasNewContent = CONTENT.some((column) => !isDeepStrictEqual(source[column], columns[column]));
    const hasNewInterval = source.intervalMs !== intervalMs;
    const hasNewClaims = source.claimSetId !== claimSet.id;
    const { raw } = await manager
      .createQueryBuilder()
      .update(Source)
      .set({ ...columns, changedBy, revision: () => 'revision + 1', updatedAt: () => 'now()' })
      .where({ id: source.id })
      .returning('updated_at')
      .execute();
    const [row] = raw as { updated_at: Date }[];
    if (!row) throw new Error('A locked source has disappeared');
    if (hasNewContent)
      source.state.nextRunAt = await this.states.forget(manager, source.id, intervalMs !== null);
    else if (hasNewInterval)
      source.state.nextRunAt = await this.states.reschedule(manager, source.id, intervalMs);
    if (hasNewClaims)
      await inheritClaims(
        manager,
        { id: source.id, kind: source.kind, claimSetId: claimSet.id },
        { claimSets: this.claimSets, states: this.states },
      );
    Object.assign(source, columns, { claimSet, updatedAt: row.updated_at });
    return { outcome: 'changed', source };
  }
}

/** The columns that decide what a sync reads. */
const CONTENT = [
  'settings',
  ...Object.values(SOURCE_SETTINGS).flatMap(({ column, isContent }) => (isContent ? [column] : [])),
] as const;

/** Returns the columns whose values depend only on the declaration. */
export function sourceColumns(declared: SourceConfig) {
  const { settings, claims } = declared;
  return { settings, givenClaims: givenForm(claims), ...storedIn(SOURCE_SETTINGS, declared) };
}
