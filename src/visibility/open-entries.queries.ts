import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { UNIDENTIFIED_CALLER } from '../auth/caller.js';
import { AccessPolicy } from '../authz/access-policy.js';
import type { Claims } from '../claims/claims.js';
import { Partitions } from './partitions.js';
import { RegistryLookup } from './registry-lookup.queries.js';

/** Counts the entries open to callers without a token, for the startup log (reference/access). */
@Injectable()
export class OpenEntries {
  constructor(
    private readonly dataSource: DataSource,
    private readonly lookup: RegistryLookup,
    private readonly partitions: Partitions,
    private readonly policy: AccessPolicy,
  ) {}

  /** Counts the entries that a caller without a token, granted these claims, sees in a registry. */
  async count(registryName: string, claims: Claims): Promise<number> {
    const registry = await this.lookup.find(registryName);
    const caller = { ...UNIDENTIFIED_CALLER, claims };
    if (!registry || !this.policy.mayReach(caller, registry.claims)) return 0;
    const { sources } = await this.partitions.ofRegistry(registry);
    const visible = sources.flatMap(({ sourceId, claimSetIds, claims: carried }) =>
      claimSetIds
        .filter((_, index) => this.policy.maySee(caller, carried[index] ?? {}))
        .map((claimSetId) => ({ sourceId, claimSetId })),
    );
    const [row] = await this.dataSource.query<{ count: number }[]>(
      `select count(distinct (e.type, e.name))::int as count
       from unnest($1::int[], $2::int[]) v(source_id, claim_set_id)
       join entry e on e.source_id = v.source_id and e.claim_set_id = v.claim_set_id`,
      [visible.map(({ sourceId }) => sourceId), visible.map(({ claimSetId }) => claimSetId)],
    );
    return row?.count ?? 0;
  }
}
