import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { type EntityManager, In } from 'typeorm';
import { canonicalClaims, type Claims } from '../claims/claims.js';
import { ClaimSet } from './claim-set.entity.js';

/** The claim sets, one for each distinct value: claims that are equal in canonical form share one. */
@Injectable()
export class ClaimSetsRepository {
  /** The claim set of these claims, made when it is not there yet, in the transaction that refers to it. */
  async findOrCreate(manager: EntityManager, claims: Claims): Promise<ClaimSet> {
    const canonical = canonicalClaims(claims);
    const digest = digestOf(canonical);
    const claimSets = manager.getRepository(ClaimSet);
    const known = await claimSets.findOneBy({ digest });
    if (known) return known;
    await this.add(manager, [{ canonical, digest }]);
    return claimSets.findOneByOrFail({ digest });
  }

  /** The ids of the claim sets of many claims, in their order; as `findOrCreate`. */
  async findOrCreateAll(manager: EntityManager, all: readonly Claims[]): Promise<number[]> {
    const texts = all.map((claims) => canonicalClaims(claims));
    const distinct = [...new Set(texts)].map((canonical) => ({ canonical, digest: digestOf(canonical) }));
    const claimSets = manager.getRepository(ClaimSet);
    const digests = distinct.map(({ digest }) => digest);
    const stored = new Map<string, number>();
    const remember = async (wanted: readonly Buffer[]) => {
      const found = await claimSets.find({
        select: { id: true, digest: true },
        where: { digest: In(wanted) },
      });
      for (const { id, digest } of found) stored.set(digest.toString('hex'), id);
    };
    await remember(digests);
    const missing = distinct.filter(({ digest }) => !stored.has(digest.toString('hex')));
    if (missing.length > 0) {
      await this.add(manager, missing);
      await remember(missing.map(({ digest }) => digest));
    }
    const ids = new Map(
      distinct.map(({ canonical, digest }) => [canonical, stored.get(digest.toString('hex'))]),
    );
    return texts.map((text) => {
      const id = ids.get(text);
      if (id === undefined) throw new Error('A claim set was neither added nor found');
      return id;
    });
  }

  // In one order, so that two transactions that add the same claim sets can't wait for each other. One that another
  // transaction has added meanwhile is left as it is.
  private async add(
    manager: EntityManager,
    missing: readonly { readonly canonical: string; readonly digest: Buffer }[],
  ): Promise<void> {
    const ordered = [...missing].sort((one, other) => Buffer.compare(one.digest, other.digest));
    await manager
      .createQueryBuilder()
      .insert()
      .into(ClaimSet)
      .values(ordered.map(({ canonical, digest }) => ({ claims: JSON.parse(canonical) as Claims, digest })))
      .orIgnore()
      .updateEntity(false)
      .execute();
  }
}

function digestOf(canonical: string): Buffer {
  return createHash('sha256').update(canonical).digest();
}
