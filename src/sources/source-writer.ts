import { isDeepStrictEqual } from 'node:util';
import type { EntityManager } from 'typeorm';
import { internClaimSet } from '../claim-sets/claim-set.queries.js';
import type { SourceConfig } from '../config/config.js';
import { type Origin, Source } from './source.entity.js';

/** Kinds whose entries carry the claims of their source (spec §2.4). */
const INHERITS_CLAIMS = new Set<string>(['git', 'api', 'file']);

/** Gives every entry of a source these claims, and tells how many had others. */
export abstract class EntryClaims {
  abstract relabel(manager: EntityManager, sourceId: number, claimSetId: number): Promise<number>;
}

/**
 * The only writer of source rows: for the configuration file and the admin API alike. Runs inside its caller's
 * transaction. A change of claims re-labels inherited entries at once (contract §5); a change of settings or filter makes
 * the next sync read everything anew, and one that is under way write nothing. As long as that has not been read, new
 * claims do not open what is there: it came from another place, or by another filter, and is hidden until the next sync.
 */
export class SourceWriter {
  constructor(private readonly entries: EntryClaims) {}

  async put(
    manager: EntityManager,
    declared: SourceConfig,
    origin: Origin,
  ): Promise<'created' | 'changed' | 'unchanged'> {
    const claimSetId = await internClaimSet(manager, declared.claims);
    const found = await manager.getRepository(Source).findOneBy({ name: declared.name });
    const row = [
      declared.name,
      declared.kind,
      JSON.stringify(declared.settings),
      declared.filter && JSON.stringify(declared.filter),
      declared.intervalMs,
      claimSetId,
    ];
    if (!found) {
      const [created] = await manager.query<{ id: number }[]>(
        `insert into source (name, kind, settings, filter, interval_ms, claim_set_id, origin)
         values ($1, $2, $3, $4, $5, $6, $7) returning id`,
        [...row, origin],
      );
      await manager.query(
        `insert into source_sync (source_id, next_run_at) values ($1, case when $2 then now() end)`,
        [created?.id, declared.intervalMs !== null],
      );
      return 'created';
    }
    const sameContent =
      found.kind === declared.kind &&
      isDeepStrictEqual(found.settings, plain(declared.settings)) &&
      isDeepStrictEqual(found.filter, plain(declared.filter));
    const sameInterval =
      (found.intervalMs === null ? null : Number(found.intervalMs)) === declared.intervalMs;
    if (sameContent && sameInterval && found.claimSetId === claimSetId) return 'unchanged';
    await manager.query(
      `update source set kind = $2, settings = $3, filter = $4, interval_ms = $5, claim_set_id = $6,
         revision = revision + 1, updated_at = now() where name = $1`,
      row,
    );
    if (!sameContent)
      await manager.query(
        `update source_sync set content_digest = null, fetch_state = null, lease_owner = null, lease_until = null,
           next_run_at = case when $2 then now() end
         where source_id = $1`,
        [found.id, declared.intervalMs !== null],
      );
    else if (!sameInterval)
      await manager.query(
        `update source_sync set next_run_at = least(next_run_at, now() + $2 * interval '1 millisecond')
         where source_id = $1`,
        [found.id, declared.intervalMs],
      );
    if (INHERITS_CLAIMS.has(declared.kind) && found.claimSetId !== claimSetId) {
      const label = (await this.isRead(manager, found.id)) ? claimSetId : await internClaimSet(manager, {});
      await this.entries.relabel(manager, found.id, label);
    }
    return 'changed';
  }

  // Every sync that succeeds leaves a state, and every change of settings or filter takes it away.
  private async isRead(manager: EntityManager, sourceId: number): Promise<boolean> {
    const rows = await manager.query<object[]>(
      `select 1 from source_sync where source_id = $1 and fetch_state is not null`,
      [sourceId],
    );
    return rows.length > 0;
  }
}

// As it will come back from the database: members that are undefined are not stored.
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
