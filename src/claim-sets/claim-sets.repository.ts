import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Column, Entity, type EntityManager, In, JoinColumn, ManyToOne, Unique } from 'typeorm';
import { canonicalClaims, type Claims } from '../claims/claims.js';
import { IdColumn } from '../database/columns.js';

/** A distinct claims value, stored once. `{}` is stored as well, so that references are never null. */
@Entity('claim_set')
@Unique('claim_set_digest_key', ['digest'])
export class ClaimSet {
  @IdColumn('claim_set')
  id: number;

  /** The claims in canonical form. */
  @Column({ type: 'jsonb' })
  claims: Claims;

  /** SHA-256 of the canonical text. */
  @Column({ type: 'bytea' })
  digest: Buffer;
}

/** Number of claim sets per statement. */
const BATCH = 2_000;
/** Maximum number of retries if the cleanup deletes claim sets before they are locked. */
const MAX_ATTEMPTS = 5;

/** Stores each distinct claims value once; claims with the same canonical form share a claim set. */
@Injectable()
export class ClaimSetsRepository {
  /** Finds or creates the claim set, and locks it until the end of the transaction, which will refer to it. */
  async findOrCreate(manager: EntityManager, claims: Claims): Promise<ClaimSet> {
    const canonical = canonicalClaims(claims);
    const claimSet = (await this.lockAll(manager, [canonical])).get(canonical);
    if (!claimSet) throw new Error('A claim set was neither added nor found');
    return claimSet;
  }

  /** Works like `findOrCreate` for many claims, and returns the results in the same order. */
  async findOrCreateAll(manager: EntityManager, all: readonly Claims[]): Promise<ClaimSet[]> {
    const texts = all.map((claims) => canonicalClaims(claims));
    const claimSets = await this.lockAll(manager, texts);
    return texts.flatMap((text) => claimSets.get(text) ?? []);
  }

  /**
   * Locks claim sets in the order of their digests, so that transactions adding the same claim sets cannot deadlock.
   */
  private async lockAll(manager: EntityManager, texts: readonly string[]): Promise<Map<string, ClaimSet>> {
    const byDigest = new Map([...new Set(texts)].map((canonical) => [hash('sha256', canonical), canonical]));
    const digests = [...byDigest.keys()].sort();
    const found = new Map<string, ClaimSet>();
    for (let start = 0; start < digests.length; start += BATCH) {
      let wanted = digests.slice(start, start + BATCH);
      for (let attempt = 0; wanted.length > 0; attempt += 1) {
        if (attempt > MAX_ATTEMPTS) throw new Error('Claim sets were neither added nor found');
        // Also adds back any claim set that the cleanup has just deleted.
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

  // Ignores claim sets that another transaction has added in the meantime.
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

/** Declares the column `claim_set_id`. */
export function ClaimSetId(): PropertyDecorator {
  return Column({ name: 'claim_set_id', type: 'integer' });
}

/** Declares the relation to the claim set for the entity stored in this table. */
export function ClaimSetOf(table: string): PropertyDecorator {
  return (prototype, property) => {
    ManyToOne(() => ClaimSet)(prototype, property);
    JoinColumn({ name: 'claim_set_id', foreignKeyConstraintName: `${table}_claim_set_id_fkey` })(
      prototype,
      property,
    );
  };
}

/** Declares the column for claims as given (`givenForm`), which is used for responses, never for access decisions. */
export function GivenClaims(): PropertyDecorator {
  return Column({ name: 'given_claims', type: 'jsonb', nullable: true });
}
