import { describe, expect, it } from 'vitest';
import { SUPER_ADMIN } from '../support/callers.js';
import type { Document } from '../support/documents.js';
import { aService } from '../support/service.js';

const KIB = 1_024;
const MIB = KIB * KIB;

describe('who has access to a registry whose entries carry large claims', () => {
  const service = aService({ mode: 'full' })
    .source('few', { kind: 'managed' })
    .source('many', { servers: [] })
    .registry('few', { sources: ['few'] })
    .registry('many', { sources: ['many'] })
    .runs();

  /** Adds entries, each with its own claims of this size, as their publishers would. */
  const add = (source: string, count: number, bytes: number) =>
    service.database.query(
      `with sets as (
         insert into claim_set (claims, digest)
         select jsonb_build_object('n', $1::text || n, 'filler', repeat('x', $3::int)), sha256(convert_to($1::text || n, 'UTF8'))
         from generate_series(1, $2::int) n returning id
       )
       insert into entry (source_id, type, name, claim_set_id)
       select s.id, 'server', 'io.acme/n' || sets.id, sets.id from sets, source s where s.name = $1`,
      [source, count, bytes],
    );
  const access = async (registry: string) => {
    const reply = await service.as(SUPER_ADMIN).get(`/v1/registries/${registry}/access`);
    expect(reply.status).toBe(200);
    return { bytes: reply.bytes.length, ...(reply.json as { claimSets: Document[]; isCut?: boolean }) };
  };

  it('lists 4 MiB of claims, and says that there are more', async () => {
    await add('many', 200, 60 * KIB);
    const { bytes, claimSets, isCut } = await access('many');
    expect(isCut).toBe(true);
    expect(claimSets.length).toBeGreaterThan(50);
    expect(claimSets.length).toBeLessThan(70);
    expect(bytes).toBeLessThan(12 * MIB);
  });

  it('lists all claim sets within 4 MiB', async () => {
    await add('few', 60, 60 * KIB);
    const { claimSets, isCut } = await access('few');
    expect(isCut).toBeUndefined();
    expect(claimSets).toHaveLength(60);
  });
});
