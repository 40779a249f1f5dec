import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { EntityManager } from 'typeorm';
import type { Caller } from '../auth/caller.js';
import { AccessPolicy } from './access-policy.js';
import type { Claims } from '../claims/claims.js';
import { type OrderedRows, readFirst } from '../database/bulk.js';
import { ClaimSet } from '../claim-sets/claim-sets.repository.js';

/** Claim sets read per statement. */
const SETS_PER_READ = 32;
const MAX_CACHED_CHARACTERS = 8 * 1_024 * 1_024;
/** Decisions cached for all callers together, and per caller. */
const MAX_DECISIONS = 100_000;
const MAX_DECISIONS_OF_ONE = 10_000;

/** Whether a caller covers the claim sets with these digests. */
interface Decisions {
  readonly policyVersion: number;
  readonly byDigest: Map<string, boolean>;
}

const NEXT_CLAIMS: OrderedRows = {
  columns: `id, encode(digest, 'hex') as digest, claims::text as claims`,
  bytes: 'octet_length(claims::text)',
  from: 'claim_set where id = any($1::int[])',
  order: 'id',
};

/**
 * Finds the claim sets that a caller covers. Sources and registries are listed by claim set, so that a list loads only
 * the rows that it shows. Claims are read in small batches. Claims and decisions are cached by digest, whose meaning
 * never changes, so after the first list other people's long claims cost a caller nothing.
 */
@Injectable()
export class ReachableClaimSets {
  private readonly claims = new LRUCache<string, Claims>({ maxSize: MAX_CACHED_CHARACTERS });
  private readonly decisions = new LRUCache<Caller, Decisions>({
    maxSize: MAX_DECISIONS,
    maxEntrySize: MAX_DECISIONS_OF_ONE,
    sizeCalculation: ({ byDigest }) => byDigest.size + 1,
  });

  constructor(private readonly policy: AccessPolicy) {}

  /** Returns the claim sets of these sources or registries that the caller covers. */
  async among(
    manager: EntityManager,
    caller: Caller,
    rows: readonly { readonly claimSetId: number }[],
  ): Promise<ReadonlySet<number>> {
    const ids = [...new Set(rows.map(({ claimSetId }) => claimSetId))];
    if (ids.length === 0 || this.policy.seesAll(caller)) return new Set(ids);
    const known = await manager
      .createQueryBuilder(ClaimSet, 'claims')
      .select('claims.id', 'id')
      .addSelect(`encode(claims.digest, 'hex')`, 'digest')
      .where('claims.id = any(:ids)', { ids })
      .orderBy('claims.id')
      .getRawMany<{ id: number; digest: string }>();
    const before = this.decisions.get(caller);
    const policyVersion = this.policy.version;
    const byDigest = new Map(before?.policyVersion === policyVersion ? before.byDigest : []);
    const reachable = new Set<number>();
    const judge = (id: number, digest: string, claims: Claims | undefined) => {
      const decision = byDigest.get(digest) ?? (claims && this.policy.mayReach(caller, claims));
      if (decision === undefined) return false;
      byDigest.set(digest, decision);
      if (decision) reachable.add(id);
      return true;
    };
    const unread = known
      .filter(({ id, digest }) => !judge(id, digest, this.claims.get(digest)))
      .map(({ id }) => id);
    while (unread.length > 0) {
      const next = unread.slice(0, SETS_PER_READ);
      const rows = await readFirst<{ id: number; digest: string; claims: string }>(manager, NEXT_CLAIMS, [
        next,
      ]);
      for (const { id, digest, claims: text } of rows) {
        const claims = JSON.parse(text) as Claims;
        this.claims.set(digest, claims, { size: text.length + 100 });
        judge(id, digest, claims);
      }
      // A claim set that no longer exists is skipped.
      const last = rows.at(-1)?.id;
      unread.splice(0, last === undefined ? next.length : next.indexOf(last) + 1);
    }
    this.decisions.set(caller, { policyVersion, byDigest });
    return reachable;
  }
}
