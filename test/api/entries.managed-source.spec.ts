import { describe, expect, it } from 'vitest';
import {
  ACME_ADMIN,
  ACME_DATA,
  ACME_PLATFORM,
  ACME_WRITER,
  CONTOSO_READER,
  NOBODY,
  SUPER_ADMIN,
} from '../support/callers.js';
import { aServer, aSkill } from '../support/documents.js';
import { expectRefused } from '../support/matchers.js';
import {
  aName,
  aPublication,
  aPublishingService,
  consumerAt,
  ENTRY_ROUTES,
  entryAt,
  inMode,
  listAt,
  MODES,
  outcome,
  publish,
  type Type,
  TYPES,
} from '../support/publishing.js';
import { aService } from '../support/service.js';

const CLAIMS = { org: 'acme', team: 'platform' };

describe.each(MODES)('in %s mode without a managed source', (mode) => {
  const service = aService({ mode })
    .source('file', {
      servers: [aServer('io.acme/filed')],
      skills: [aSkill('io.acme/filed')],
      claims: { org: 'acme' },
    })
    .registry('main', { sources: ['file'] })
    .runs();
  const writer = () => service.as(ACME_WRITER);

  it.each(TYPES)('publishing a %s returns 409 no_managed_source', async (type) => {
    for (const path of ['/v1/entries', '/v1/entries?dry_run=true', '/v1/entries/validate']) {
      const reply = await writer().post(path, aPublication(type, aName(), CLAIMS));
      expectRefused(reply, 409, 'no_managed_source');
      const beyond = await writer().post(path, aPublication(type, aName(), { org: 'x' }));
      const expected = ['409 no_managed_source', '400 claims_not_subset', '400 claims_not_subset'] as const;
      expect(outcome(beyond)).toBe(inMode(expected, mode));
      expectRefused(await writer().post(path, {}), 400, 'invalid_body');
    }
  });

  it('GET /v1/entries is empty', async () => {
    for (const query of ['', '?limit=1']) {
      const reply = await writer().get(`/v1/entries${query}`);
      expect(reply.status).toBe(200);
      expect(reply.json).toEqual({ entries: [], metadata: { count: 0 } });
    }
  });

  it.each(TYPES)('every route of a %s returns 404', async (type) => {
    for (const name of ['io.acme/filed', 'io.acme/free'])
      for (const [method, below, body] of ENTRY_ROUTES) {
        const reply = await writer().send(method, entryAt(type, name, below), body ? { body } : {});
        expectRefused(reply, 404, 'entry_not_found');
      }
    expect((await writer().get(consumerAt(type, 'io.acme/filed', '/versions/1.0.0'))).status).toBe(200);
  });
});

describe('a managed source created through the API', () => {
  const service = aService({ mode: 'full' }).runs();

  it('accepts publications until it is deleted with its entries', async () => {
    const admin = service.as(ACME_ADMIN);
    const writer = service.as(ACME_WRITER);
    const body = aPublication('server', aName(), CLAIMS);
    expectRefused(await writer.post('/v1/entries', body), 409, 'no_managed_source');
    expect((await admin.put('/v1/sources/own', { managed: {} })).status).toBe(201);
    expect((await writer.post('/v1/entries', body)).status).toBe(201);
    expect((await writer.get('/v1/entries')).json).toMatchObject({ metadata: { count: 1 } });
    expect((await admin.delete('/v1/sources/own')).status).toBe(204);
    expect((await writer.get('/v1/entries')).json).toEqual({ entries: [], metadata: { count: 0 } });
    expectRefused(await writer.post('/v1/entries', body), 409, 'no_managed_source');
  });
});

describe.each(MODES)('in %s mode, a published entry', (mode) => {
  const service = aPublishingService(mode)
    .source('file', { servers: [aServer('io.acme/filed')], skills: [aSkill('io.acme/filed')] })
    .registry('acme', { sources: ['file', 'published'], claims: { org: 'acme' } })
    .registry('files', { sources: ['file'] })
    .runs();

  const seen = async (type: Type, name: string, registry: string, claims: object) => {
    const caller = service.as({ ...claims });
    const list = await caller.get(`${listAt(type, registry)}?limit=100`);
    const one = await caller.get(consumerAt(type, name, '/versions/latest', registry));
    const versions = await caller.get(consumerAt(type, name, '/versions', registry));
    const listed = list.status === 200 ? list.text.includes(`The ${type} ${name}"`) : list.status;
    return [listed, one.status, versions.status];
  };
  const VISIBLE = [true, 200, 200];
  const HIDDEN = [false, 404, 404];
  const FORBIDDEN = [403, 403, 403];

  // reference/access: the gate of the registry, then the claims of the entry.
  const READERS = [
    ['its publisher', ACME_WRITER, VISIBLE, VISIBLE],
    ['a reader of its team', ACME_PLATFORM, VISIBLE, VISIBLE],
    ['a reader of several teams', { org: 'acme', team: ['data', 'platform'] }, VISIBLE, VISIBLE],
    ['a reader of another team', ACME_DATA, HIDDEN, HIDDEN],
    ['a reader of another organization', CONTOSO_READER, HIDDEN, FORBIDDEN],
    ['the team of that name elsewhere', { org: 'contoso', team: 'platform' }, HIDDEN, FORBIDDEN],
    ['a caller without claims', NOBODY, HIDDEN, FORBIDDEN],
    ['a super-admin', SUPER_ADMIN, VISIBLE, VISIBLE],
  ] as const;
  it.each(TYPES)('of type %s is immediately visible or hidden, depending on the reader', async (type) => {
    const name = aName();
    const seenBy = async (registry: string) => {
      const rows = READERS.map(
        async ([who, reader]) => [who, await seen(type, name, registry, reader)] as const,
      );
      return Object.fromEntries(await Promise.all(rows));
    };
    const expected = (open: (row: (typeof READERS)[number]) => unknown) =>
      Object.fromEntries(READERS.map((row) => [row[0], mode === 'full' ? open(row) : VISIBLE]));
    const hidden = Object.fromEntries(READERS.map(([who]) => [who, HIDDEN]));
    expect(await seenBy('main')).toEqual(hidden);
    await publish(service.as(ACME_WRITER), type, name, CLAIMS);
    expect(await seenBy('main')).toEqual(expected(([, , open]) => open));
    expect(await seenBy('acme')).toEqual(expected(([, , , gated]) => gated));
    expect(await seen(type, name, 'files', ACME_WRITER)).toEqual(HIDDEN);
    await service.as(ACME_WRITER).delete(entryAt(type, name, '/versions/1.0.0'));
    expect(await seenBy('main')).toEqual(hidden);
  });

  it.each(TYPES)('a %s without claims is visible to super-admins only in full mode', async (type) => {
    const name = aName();
    await publish(service.as(ACME_WRITER), type, name, CLAIMS);
    const cleared = await service.as(ACME_WRITER).put(entryAt(type, name, '/claims'), { claims: {} });
    expect(cleared.status).toBe(204);
    expect(await seen(type, name, 'main', ACME_WRITER)).toEqual(mode === 'full' ? HIDDEN : VISIBLE);
    expect(await seen(type, name, 'main', SUPER_ADMIN)).toEqual(VISIBLE);
  });
});
