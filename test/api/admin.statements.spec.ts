import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aServer } from '../support/documents.js';
import { aService } from '../support/service.js';
import { StatementTap } from '../support/statement-tap.js';

/** Matches statements that select a source by name; background work never runs one. */
const READS_SOURCE = /^select\b.*\bfrom "?source"?\s.*\bwhere\b.*\bname"?\s*=/is;

/** Matches the inserts of a new source. */
const INSERTS_SOURCE = /\binsert into "?(source|source_sync|claim_set|audit_event)\b/i;

describe('statements about sources', () => {
  const service = aService()
    .source('declared', { servers: [aServer('io.acme/a')] })
    .runs();
  let tap: StatementTap;
  beforeAll(async () => {
    tap = new StatementTap(service.database);
    const port = await tap.listen();
    const { user, database } = service.database;
    const throughTap = { host: '127.0.0.1', port, user, database };
    await service.restart((edited) => edited.configuration({ database: throughTap }));
  });
  afterAll(() => tap.close());

  const settings = (interval: string) => ({
    file: { url: 'http://127.0.0.1:9/none.json' },
    syncPolicy: { interval },
  });
  const readsDuring = async (request: () => Promise<{ status: number }>) => {
    tap.statements.length = 0;
    const { status } = await request();
    const reads = tap.statements.filter((statement) => READS_SOURCE.test(statement));
    const locked = reads.filter((statement) => /\bfor (no key )?update\b/i.test(statement));
    return { status, reads: reads.length, locked: locked.length };
  };

  it('GET: one', async () => {
    const get = () => service.get('/v1/sources/declared');
    expect(await readsDuring(get)).toEqual({ status: 200, reads: 1, locked: 0 });
  });

  it('manual sync: two, one to authorize and one while its state is locked', async () => {
    const sync = () => service.post('/v1/sources/declared/sync', {});
    expect(await readsDuring(sync)).toEqual({ status: 202, reads: 2, locked: 0 });
  });

  it('PUT: two, one to authorize and one under the lock', async () => {
    expect((await service.put('/v1/sources/replaced', settings('1h'))).status).toBe(201);
    const put = () => service.put('/v1/sources/replaced', settings('2h'));
    expect(await readsDuring(put)).toEqual({ status: 200, reads: 2, locked: 1 });
  });

  it('PUT of a new source and DELETE: two', async () => {
    const put = () => service.put('/v1/sources/created', settings('1h'));
    expect(await readsDuring(put)).toEqual({ status: 201, reads: 2, locked: 1 });
    const remove = () => service.delete('/v1/sources/created');
    expect(await readsDuring(remove)).toEqual({ status: 204, reads: 2, locked: 1 });
  });

  it('a reload adds many sources in as many statements as one', async () => {
    const insertsFor = async (count: number) => {
      tap.statements.length = 0;
      const { changes } = await service.reload((edited) => {
        for (let n = 0; n < count; n++)
          edited.source(`one-of-${count}-${n}`, { missing: true, claims: { [`one-of-${count}`]: `${n}` } });
      });
      expect(changes).toHaveLength(count);
      return tap.statements.filter((statement) => INSERTS_SOURCE.test(statement)).length;
    };
    expect([await insertsFor(1), await insertsFor(90)]).toEqual([4, 4]);
  });

  it('a list loads its items in one statement, even when paged or searched by name', async () => {
    const names = Array.from({ length: 40 }, (_, index) => `list-${String(index).padStart(2, '0')}`);
    for (const name of names) {
      expect((await service.put(`/v1/sources/${name}`, settings('1h'))).status).toBe(201);
      expect((await service.put(`/v1/registries/${name}`, { sources: [name] })).status).toBe(201);
    }
    for (const list of ['sources', 'registries'] as const) {
      const namesIn = async (query: string) => {
        tap.statements.length = 0;
        const reply = await service.get(`/v1/${list}?${query}`);
        expect(reply.status).toBe(200);
        const loads = tap.statements.filter((text) => text.includes('($1::int[]) with ordinality asked'));
        expect(loads).toHaveLength(1);
        const page = reply.json as Record<typeof list, { name: string }[]> & {
          metadata: { nextCursor?: string };
        };
        return { names: page[list].map(({ name }) => name), next: page.metadata.nextCursor };
      };
      expect((await namesIn('')).names).toEqual(expect.arrayContaining(names));
      expect(await namesIn('search=LIST-1')).toEqual({ names: names.slice(10, 20), next: undefined });
      const first = await namesIn('search=list-1&limit=4');
      expect(first.names).toEqual(names.slice(10, 14));
      expect((await namesIn(`cursor=${first.next}`)).names).toEqual(names.slice(14, 18));
    }
  });
});
