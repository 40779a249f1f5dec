import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Column, type EntityManager, In, JoinColumn, ManyToOne } from 'typeorm';
import { canonicalClaims, type Claims } from '../claims/claims.js';
import { ClaimSet } from './claim-set.entity.js';

/** Claim sets that a statement carries. */
const BATCH = 2_000;
/** How often claim sets may be removed again before they are locked. */
const MAX_ATTEMPTS = 5;

/** The claim sets, one for each distinct value: claims that are equal in canonical form share one. */
@Injectable()
export class ClaimSetsRepository {
  /** The claim set of these claims, made when it is not there yet, in the transaction that refers to it. */
  async findOrCreate(manager: EntityManager, claims: Claims): Promise<ClaimSet> {
    const canonical = canonicalClaims(claims);
    const claimSet = (await this.lockAll(manager, [canonical])).get(canonical);
    if (!claimSet) throw new Error('A claim set was neither added nor found');
    return claimSet;
  }

  /** The ids of the claim sets of many claims, in their order; as `findOrCreate`. */
  async findOrCreateAll(manager: EntityManager, all: readonly Claims[]): Promise<number[]> {
    const texts = all.map((claims) => canonicalClaims(claims));
    const claimSets = await this.lockAll(manager, texts);
    return texts.flatMap((text) => claimSets.get(text)?.id ?? []);
  }

  /**
   * The claim sets of these texts, kept from the clean-up until the transaction ends. In one order, so that two transactions that
   * add the same claim sets can't wait for each other.
   */
  private async lockAll(manager: EntityManager, texts: readonly string[]): Promise<Map<string, ClaimSet>> {
    const byDigest = new Map([...new Set(texts)].map((canonical) => [hexOf(canonical), canonical]));
    const digests = [...byDigest.keys()].sort();
    const found = new Map<string, ClaimSet>();
    for (let start = 0; start < digests.length; start += BATCH) {
      let wanted = digests.slice(start, start + BATCH);
      for (let attempt = 0; wanted.length > 0; attempt += 1) {
        if (attempt > MAX_ATTEMPTS) throw new Error('Claim sets were neither added nor found');
        // One that the clean-up removes at this moment is added again.
        if (attempt > 0) await this.add(manager, wanted, byDigest);
        for (const claimSet of await this.lock(manager, wanted))
          found.set(byDigest.get(claimSet.digest.toString('hex')) ?? '', claimSet);
        wanted = wanted.filter((digest) => !found.has(byDigest.get(digest) ?? ''));
      }
    }
    return found;
  }

  private lock(manager: EntityManager, digests: readonly string[]): Promise<ClaimSet[]> {
    return manager.find(ClaimSet, {
      where: { digest: In(digests.map((digest) => Buffer.from(digest, 'hex'))) },
      lock: { mode: 'for_key_share' },
    });
  }

  // One that another transaction has added meanwhile is left as it is.
  private async add(
    manager: EntityManager,
    digests: readonly string[],
    byDigest: ReadonlyMap<string, string>,
  ): Promise<void> {
    await manager
      .createQueryBuilder()
      .insert()
      .into(ClaimSet)
      .values(
        digests.map((digest) => ({
          claims: JSON.parse(byDigest.get(digest) ?? '{}') as Claims,
          digest: Buffer.from(digest, 'hex'),
        })),
      )
      .orIgnore()
      .updateEntity(false)
      .execute();
  }
}

function hexOf(canonical: string): string {
  return createHash('sha256').update(canonical).digest('hex');
}

/** The number of the claim set of a row. */
export function ClaimSetId(): PropertyDecorator {
  return Column({ name: 'claim_set_id', type: 'integer' });
}

/** The claim set of a row of this table. */
export function ClaimSetOf(table: string): PropertyDecorator {
  return (prototype, property) => {
    ManyToOne(() => ClaimSet)(prototype, property);
    JoinColumn({ name: 'claim_set_id', foreignKeyConstraintName: `${table}_claim_set_id_fkey` })(
      prototype,
      property,
    );
  };
}

/** The form in which claims were given, if it is another one: see `givenForm`. For showing alone. */
export function GivenClaims(): PropertyDecorator {
  return Column({ name: 'given_claims', type: 'jsonb', nullable: true });
}
