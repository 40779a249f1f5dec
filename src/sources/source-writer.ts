import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { ClaimSetsRepository } from '../claim-sets/claim-sets.repository.js';
import { givenForm } from '../claims/claims.js';
import type { SourceConfig } from '../config/config.js';
import { SourceStates } from './source-states.queries.js';
import { type Origin, Source } from './source.entity.js';
import { inheritClaims } from './sources.queries.js';

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
    const sources = declared.map(({ name, kind, intervalMs, allowShrink, claims, ...rest }, index) =>
      manager.create(Source, {
        name,
        kind,
        settings: plain(rest.settings),
        filter: plain(rest.filter),
        admission: plain(rest.admission),
        intervalMs,
        allowShrink,
        origin,
        changedBy,
        givenClaims: givenForm(claims),
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
    const { intervalMs, allowShrink } = declared;
    const settings = plain(declared.settings);
    const filter = plain(declared.filter);
    const admission = plain(declared.admission);
    const hasNewContent =
      !isDeepStrictEqual(source.settings, settings) ||
      !isDeepStrictEqual(source.filter, filter) ||
      !isDeepStrictEqual(source.admission, admission);
    const hasNewInterval = source.intervalMs !== intervalMs;
    const hasNewClaims = source.claimSetId !== claimSet.id;
    const givenClaims = givenForm(declared.claims);
    const isSame =
      !hasNewContent &&
      !hasNewInterval &&
      !hasNewClaims &&
      source.origin === origin &&
      isDeepStrictEqual(source.givenClaims, givenClaims) &&
      source.allowShrink === allowShrink;
    if (isSame) return { outcome: 'unchanged', source };
    const { raw } = await manager
      .createQueryBuilder()
      .update(Source)
      .set({
        settings,
        filter,
        admission,
        intervalMs,
        allowShrink,
        origin,
        changedBy,
        claimSetId: claimSet.id,
        givenClaims,
        revision: () => 'revision + 1',
        updatedAt: () => 'now()',
      })
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
      await inheritClaims(manager, source, claimSet, { claimSets: this.claimSets, states: this.states });
    const changed = {
      settings,
      filter,
      admission,
      intervalMs,
      allowShrink,
      origin,
      claimSet,
      claimSetId: claimSet.id,
      givenClaims,
    };
    return { outcome: 'changed', source: Object.assign(source, changed, { updatedAt: row.updated_at }) };
  }
}

// Removes undefined members, so that the value equals the one read back from the database.
function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
