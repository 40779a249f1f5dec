import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Claims } from '../../claims/claims.js';

/** A stored entry and the document of its only version. */
export interface StoredEntry {
  readonly name: string;
  readonly document: string;
  readonly claims: Claims;
}

/** Small, because documents can be large. */
const ENTRIES_PER_STATEMENT = 50;

/** Reads the stored entries of a source of kind kubernetes. */
@Injectable()
export class StoredEntries {
  constructor(private readonly dataSource: DataSource) {}

  /**
   * Yields the entries whose names begin with one of the prefixes, such as `com.toolhive.k8s.tools/`, ordered by name.
   */
  async *beginningWith(sourceId: number, prefixes: readonly string[]): AsyncGenerator<StoredEntry> {
    let after = '';
    for (;;) {
      const rows = await this.dataSource.query<StoredEntry[]>(
        `select e.name, v.document, c.claims
         from entry e join entry_version v on v.entry_id = e.id and v.is_latest
           join claim_set c on c.id = e.claim_set_id
         where e.source_id = $1 and e.type = 'server' and e.name > $2
           and exists (select 1 from unnest($3::text[]) as p(prefix) where starts_with(e.name, p.prefix))
         order by e.name limit $4`,
        [sourceId, after, prefixes, ENTRIES_PER_STATEMENT],
      );
      yield* rows;
      after = rows.at(-1)?.name ?? '';
      if (rows.length < ENTRIES_PER_STATEMENT) return;
    }
  }
}
