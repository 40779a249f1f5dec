import { describe, expect, it } from 'vitest';
import { encodeCursor } from '../../dist/http/lists.js';
import { outcomeOf, serversIn } from '../support/answers.js';
import { aServer, aSkill, type Document } from '../support/documents.js';
import { cursorIn, expectRefused, versionsIn } from '../support/matchers.js';
import { listAt, type Type, TYPES } from '../support/publishing.js';
import { aService } from '../support/service.js';

const FILLER = 'x'.repeat(10_000);

const _meta = { 'io.modelcontextprotocol.registry/publisher-provided': { filler: FILLER } };
const remotes = [
  {
    type: 'streamable-http',
    url: 'https://mcp.acme.example',
    headers: [{ name: 'X-Long', description: 'x'.repeat(110_000) }],
  },
];
const longest = { name: 'X-Long', description: 'x'.repeat(1_000_000) };
const versions = Array.from({ length: 12 }, (_, index) => `1.0.${index}`);
const names = Array.from({ length: 21 }, (_, index) => `io.acme/n${index + 10}`);
const SMALL = ['alpha', 'beta', 'gamma'].map((name) => `io.acme/${name}`);

const service = aService()
  .source('large', {
    servers: ['alpha', 'beta'].map((name) => aServer(`io.acme/${name}`, '1.0.0', { _meta })),
    skills: ['alpha', 'beta'].map((name) => aSkill(`io.acme/${name}`, '1.0.0', { _meta })),
  })
  .source('long', { servers: names.map((name) => aServer(name, '1.0.0', { remotes })) })
  .source('longer', {
    servers: [
      ...versions.map((version) => aServer('io.acme/many', version, { remotes })),
      aServer('io.acme/longest', '1.0.0', { remotes: [{ ...remotes[0], headers: [longest] }] }),
    ],
  })
  .source('small', {
    servers: SMALL.map((name) => aServer(name)),
    skills: SMALL.map((name) => aSkill(name)),
  })
  .registry('large', { sources: ['large'] })
  .registry('long', { sources: ['long', 'longer'] })
  .registry('main', { sources: ['small'] })
  .runs();

describe('a cursor of a list of large documents', () => {
  it.each(['servers', 'x/dev.toolhive/skills'])('is accepted by %s', async (list) => {
    const path = `/registry/large/v0.1/${list}?limit=1`;
    const cursor = cursorIn(await service.get(path)) ?? '';
    expect(cursor).toMatch(/^[\w-]+$/);
    expect((await service.get(`${path}&cursor=${cursor}`)).status).toBe(200);
  });

  it('contains the position and no documents', async () => {
    const cursor = cursorIn(await service.get('/registry/large/v0.1/servers?limit=1')) ?? '';
    const text = Buffer.from(cursor, 'base64url').toString('latin1');
    expect(text).toContain('io.acme/alpha');
    expect(text).not.toContain('xxx');
  });

  it.each([
    ['2025-01-01T00:00:00.000Z', '200'],
    ['2025-01-01T00:00:00.000+20:00', '400 invalid_cursor'],
    ['2025-02-30T00:00:00.000Z', '400 invalid_cursor'],
  ])('made by the client with the time %s returns %s', async (updatedSince, outcome) => {
    const state = { filter: { updatedSince }, limit: 1, after: { name: 'a', key: 'a' } };
    const path = `/registry/large/v0.1/servers?cursor=${encodeCursor('servers', state)}`;
    expect(outcomeOf(await service.get(path))).toBe(outcome);
  });
});

describe('a page of more than 1 MiB of documents', () => {
  const list = listAt('server', 'long');

  it('ends early and continues with nextCursor', async () => {
    const shown: string[][] = [];
    for (let cursor = ''; ;) {
      const page = await service.get(`${list}?limit=100&search=io.acme/n${cursor && `&cursor=${cursor}`}`);
      expect(page.bytes.length).toBeLessThan(1.1 * 1024 * 1024);
      shown.push(serversIn(page));
      const next = cursorIn(page);
      if (next === undefined) break;
      cursor = next;
    }
    expect(shown.map(({ length }) => length)).toEqual([9, 9, 3]);
    expect(shown.flat()).toEqual(names);
  });

  it('ends early for the versions of one name', async () => {
    const shown: string[] = [];
    const pages: number[] = [];
    for (let cursor = ''; ;) {
      const page = await service.get(`${list}/io.acme%2Fmany/versions${cursor && `?cursor=${cursor}`}`);
      const found = versionsIn(page);
      shown.push(...found);
      pages.push(found.length);
      const next = cursorIn(page);
      if (next === undefined) break;
      cursor = next;
    }
    expect(pages).toEqual([9, 3]);
    expect(shown).toEqual(versions.map((version) => `io.acme/many@${version}`).reverse());
  });

  it('returns 400 for a cursor from another name', async () => {
    const page = await service.get(`${list}/io.acme%2Fmany/versions`);
    const path = `${list}/io.acme%2Fn10/versions?cursor=${cursorIn(page)}`;
    expect(outcomeOf(await service.get(path))).toBe('400 invalid_cursor');
  });

  it('contains at least one document of any size', async () => {
    const page = await service.get(`${list}?search=longest`);
    expect(serversIn(page)).toEqual(['io.acme/longest']);
  });
});

describe('a cursor made by the client', () => {
  describe.each(TYPES)('for the list of %ss', (type) => {
    const other: Type = type === 'server' ? 'skill' : 'server';
    const continueFrom = (cursor: string) => service.get(`${listAt(type)}?cursor=${cursor}`);
    const issuedCursor = async (by: Type = type) =>
      cursorIn(await service.get(`${listAt(by)}?limit=1`)) ?? '';
    // The checksum is valid: anyone can compute it.
    const forged = (state: unknown) => encodeCursor(`${type}s`, state);
    const whole = { filter: { version: 'latest' }, limit: 5, after: { name: 'io.acme/alpha', key: '' } };
    const countIn = async (cursor: string) =>
      ((await continueFrom(cursor)).json as { metadata: { count: number } }).metadata.count;

    it('is refused with one character changed, removed or added', async () => {
      const cursor = await issuedCursor();
      expect(await countIn(cursor)).toBe(1);
      const mangled = Array.from({ length: Math.ceil(cursor.length / 7) }, (_, index) => {
        const at = index * 7;
        return cursor.slice(0, at) + (cursor[at] === 'A' ? 'B' : 'A') + cursor.slice(at + 1);
      });
      for (const one of [...mangled, cursor.slice(1), cursor.slice(0, -1), `${cursor}A`, `${cursor}%00`])
        expectRefused(await continueFrom(one), 400, 'invalid_cursor');
    });

    it.each(['x', '%20', 'AAAA', 'eyJhIjoxfQ', Buffer.from('[]').toString('base64url'), 'a'.repeat(9_000)])(
      'is refused when it is not a cursor: %.20s',
      async (cursor) => expectRefused(await continueFrom(cursor), 400, 'invalid_cursor'),
    );

    it('is refused when it belongs to the other list', async () => {
      const cursor = await issuedCursor(other);
      expectRefused(await continueFrom(cursor), 400, 'invalid_cursor');
      expect((await service.get(`${listAt(other)}?cursor=${cursor}`)).status).toBe(200);
    });

    it('is accepted when it is valid', async () => {
      expect(await countIn(forged(whole))).toBe(2);
      expect(await countIn(forged({ ...whole, limit: 1 }))).toBe(1);
      expect(await countIn(forged({ ...whole, filter: { ...whole.filter, search: 'gamma' } }))).toBe(1);
    });

    const invalid: readonly [what: string, state: unknown][] = [
      ['nothing', null],
      ['a text', 'io.acme/alpha'],
      ['a list', [whole]],
      ['no position', { ...whole, after: null }],
      ['a name without a key', { ...whole, after: { name: 'io.acme/alpha' } }],
      ['a name that is a number', { ...whole, after: { name: 1, key: '' } }],
      ['a name with a NUL', { ...whole, after: { name: '\0', key: '' } }],
      ['a key with a NUL', { ...whole, after: { name: '', key: '\0' } }],
      ['a lone surrogate', { ...whole, after: { name: '\ud800', key: '\udfff' } }],
      ['no limit', { ...whole, limit: undefined }],
      ['a limit of zero', { ...whole, limit: 0 }],
      ['a limit above the highest', { ...whole, limit: 101 }],
      ['a fractional limit', { ...whole, limit: 1.5 }],
      ['a limit that is a text', { ...whole, limit: '5' }],
      ['no filter', { ...whole, filter: null }],
      ['a list of filters', { ...whole, filter: [whole.filter] }],
      ['a search for a number', withFilter({ search: 5 })],
      ['a search for a NUL', withFilter({ search: '\0' })],
      ['a version that is a list', withFilter({ version: ['latest'] })],
      ['a status with a NUL', withFilter({ status: '\0' })],
      ['an invalid time', withFilter({ updatedSince: 'yesterday' })],
      ['a date that does not exist', withFilter({ updatedSince: '2026-02-30T00:00:00.000Z' })],
      ['include_deleted as text', withFilter({ includeDeleted: 'perhaps' })],
    ];
    it.each(type === 'server' ? invalid : invalid.slice(0, 3))(
      'is refused when it contains %s',
      async (_what, state) => {
        expectRefused(await continueFrom(forged(state)), 400, 'invalid_cursor');
      },
    );

    // Servers have these filters; the list of skills has only latest, undeleted versions.
    it.each<[string, Document]>([
      ['all versions', { version: undefined }],
      ['one exact version', { version: '1.0.0' }],
      ['deleted versions', { includeDeleted: true }],
    ])('is refused when the list lacks the filter: %s', async (_what, filter) => {
      const cursor = forged(withFilter(filter));
      if (type === 'skill') expectRefused(await continueFrom(cursor), 400, 'invalid_cursor');
      else expect(await countIn(cursor)).toBe(2);
    });

    it.each<[string, Document]>([
      ['a long name', { ...whole, after: { name: 'a'.repeat(5_000), key: 'b' } }],
      ['wildcards of a LIKE pattern', withFilter({ search: '%_\\' })],
      ['an unknown status', withFilter({ status: 'sleeping' })],
      ['the earliest time', withFilter({ updatedSince: '0001-01-01T00:00:00.000Z' })],
      ['unknown members', { ...whole, source: 1, filter: { ...whole.filter, claims: {} } }],
    ])('is accepted when it contains %s', async (_what, state) => {
      expect((await continueFrom(forged(state))).status).toBe(200);
    });

    function withFilter(filter: Document): Document {
      return { ...whole, filter: { ...whole.filter, ...filter } };
    }
  });
});
