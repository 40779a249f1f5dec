import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { MoreThan, Repository } from 'typeorm';
import type { Claims } from '../../claims/claims.js';
import { Entry } from '../../entry-store/entry.entity.js';

/** A stored entry and the document of its only version. */
interface StoredEntry {
  readonly name: string;
  readonly document: string;
  readonly claims: Claims;
}

/** Small, because documents can be large. */
const ENTRIES_PER_STATEMENT = 50;

/** Reads the stored entries of a source of kind kubernetes. */
@Injectable()
export class StoredEntries {
  constructor(@InjectRepository(Entry) private readonly entries: Repository<Entry>) {}

  /**
   * Yields the entries whose names begin with one of the prefixes, such as `com.toolhive.k8s.tools/`, ordered by name.
   */
  async *beginningWith(sourceId: number, prefixes: readonly string[]): AsyncGenerator<StoredEntry> {
    let after = '';
    for (;;) {
      const rows = await this.entries
        .createQueryBuilder('entry')
        .innerJoin('entry.versions', 'version', 'version.isLatest')
        .innerJoin('entry.claimSet', 'claimSet')
        .select('entry.name', 'name')
        .addSelect('version.document', 'document')
        .addSelect('claimSet.claims', 'claims')
        .where({ sourceId, type: 'server', name: MoreThan(after) })
        .andWhere(
          'exists (select from unnest(:prefixes::text[]) as p(prefix) where starts_with(entry.name, p.prefix))',
        )
        .setParameters({ prefixes })
        .orderBy('entry.name')
        .limit(ENTRIES_PER_STATEMENT)
        .getRawMany<StoredEntry>();
      yield* rows;
      after = rows.at(-1)?.name ?? '';
      if (rows.length < ENTRIES_PER_STATEMENT) return;
    }
  }
}
