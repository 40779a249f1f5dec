import { describe, expect, it } from 'vitest';
import { encodeCursor } from '../../dist/http/lists/cursor.js';
import { outcomeOf, serversIn } from '../support/answers.js';
import { aServer, aSkill, type Document } from '../support/documents.js';
import { cursorIn, expectRefused, versionsIn } from '../support/matchers.js';
import { listAt, TYPES, type Type } from '../support/publishing.js';
import { aService } from '../support/service.js';

const FILLER = 'x'.repeat(10_000);

describe('a list whose documents are large', () => {
  const _meta = { 'io.modelcontextprotocol.registry/publisher-provided': { filler: FILLER } };
  const service = aService()
    .source('main', {
      servers: ['alpha', 'beta'].map((name) => aServer(`io.acme/${name}`, '1.0.0', { _meta })),
      skills: ['alpha', 'beta'].map((name) => aSkill(`io.acme/${name}`, '1.0.0', { _meta })),
    })
    .registry('main', { sources: ['main'] })
    .runs();

  it.each(['servers', 'x/dev.toolhive/skills'])(
    'gives out cursors of %s that it takes back',
    async (list) => {
      const path = `/registry/main/v0.1/${list}?limit=1`;
      const cursor = cursorIn(await service.get(path)) ?? '';
      expect(cursor).toMatch(/^[\w-]+$/);
      expect((await service.get(`${path}&cursor=${cursor}`)).status).toBe(200);
    },
  );

  it('puts the place into its cursors, and no documents', async () => {
    const cursor = cursorIn(await service.get('/registry/main/v0.1/servers?limit=1')) ?? '';
    const text = Buffer.from(cursor, 'base64url').toString('latin1');
    expect(text).toContain('io.acme/alpha');
    expect(text).not.toContain('xxx');
  });

  it.each([
    ['2025-01-01T00:00:00.000Z', '200'],
    ['2025-01-01T00:00:00.000+20:00', '400 invalid_cursor'],
    ['2025-02-30T00:00:00.000Z', '400 invalid_cursor'],
  ])('takes a cursor that a client made up, with the time %s: %s', async (updatedSince, outcome) => {
    const state = { filter: { updatedSince }, limit: 1, after: { name: 'a', key: 'a' } };
    const path = `/registry/main/v0.1/servers?cursor=${encodeCursor('servers', state)}`;
    expect(outcomeOf(await service.get(path))).toBe(outcome);
  });
});

describe('a page of documents that are together more than a megabyte', () => {
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
  const service = aService()
    .source('main', { servers: names.map((name) => aServer(name, '1.0.0', { remotes })) })
    .source('more', {
      servers: [
        ...versions.map((version) => aServer('io.acme/many', version, { remotes })),
        aServer('io.acme/longest', '1.0.0', { remotes: [{ ...remotes[0], headers: [longest] }] }),
      ],
    })
    .registry('main', { sources: ['main', 'more'] })
    .runs();

  it('ends early, and the next one goes on where it has', async () => {
    const shown: string[][] = [];
    for (let cursor = ''; ;) {
      const page = await service.get(
        `${listAt('server')}?limit=100&search=io.acme/n${cursor && `&cursor=${cursor}`}`,
      );
      expect(page.bytes.length).toBeLessThan(1.1 * 1024 * 1024);
      shown.push(serversIn(page));
      const next = cursorIn(page);
      if (next === undefined) break;
      cursor = next;
    }
    expect(shown.map(({ length }) => length)).toEqual([9, 9, 3]);
    expect(shown.flat()).toEqual(names);
  });

  it('ends early for the versions of one name too', async () => {
    const shown: string[] = [];
    const pages: number[] = [];
    for (let cursor = ''; ;) {
      const page = await service.get(
        `${listAt('server')}/io.acme%2Fmany/versions${cursor && `?cursor=${cursor}`}`,
      );
      const versions = versionsIn(page);
      shown.push(...versions);
      pages.push(versions.length);
      const next = cursorIn(page);
      if (next === undefined) break;
      cursor = next;
    }
    expect(pages).toEqual([9, 3]);
    expect(shown).toEqual(versions.map((version) => `io.acme/many@${version}`).reverse());
  });

  it('does not go on with the cursor of another name', async () => {
    const page = await service.get(`${listAt('server')}/io.acme%2Fmany/versions`);
    const path = `${listAt('server')}/io.acme%2Fn10/versions?cursor=${cursorIn(page)}`;
    expect(outcomeOf(await service.get(path))).toBe('400 invalid_cursor');
  });

  it('holds one document at least, however long it is', async () => {
    const page = await service.get(`${listAt('server')}?search=longest`);
    expect(serversIn(page)).toEqual(['io.acme/longest']);
  });
});

describe('a cursor that was not given out', () => {
  const names = ['alpha', 'beta', 'gamma'].map((name) => `io.acme/${name}`);
  const service = aService()
    .source('main', {
      servers: names.map((name) => aServer(name)),
      skills: names.map((name) => aSkill(name)),
    })
    .registry('main', { sources: ['main'] })
    .runs();

  describe.each(TYPES)('by the list of %ss', (type) => {
    const other: Type = type === 'server' ? 'skill' : 'server';
    const goingOn = (cursor: string) => service.get(`${listAt(type)}?cursor=${cursor}`);
    const givenOut = async (by: Type = type) => cursorIn(await service.get(`${listAt(by)}?limit=1`)) ?? '';
    // With a checksum that is right, which anybody can work out.
    const forged = (state: unknown) => encodeCursor(`${type}s`, state);
    const whole = { filter: { version: 'latest' }, limit: 5, after: { name: 'io.acme/alpha', key: '' } };
    const countIn = async (cursor: string) =>
      ((await goingOn(cursor)).json as { metadata: { count: number } }).metadata.count;

    it('is refused with any one character changed, cut off or added', async () => {
      const cursor = await givenOut();
      expect(await countIn(cursor)).toBe(1);
      const mangled = Array.from({ length: Math.ceil(cursor.length / 7) }, (_, index) => {
        const at = index * 7;
        return cursor.slice(0, at) + (cursor[at] === 'A' ? 'B' : 'A') + cursor.slice(at + 1);
      });
      for (const one of [...mangled, cursor.slice(1), cursor.slice(0, -1), `${cursor}A`, `${cursor}%00`])
        expectRefused(await goingOn(one), 400, 'invalid_cursor');
    });

    it.each(['x', '%20', 'AAAA', 'eyJhIjoxfQ', Buffer.from('[]').toString('base64url'), 'a'.repeat(9_000)])(
      'is refused when it is no cursor at all: %.20s',
      async (cursor) => expectRefused(await goingOn(cursor), 400, 'invalid_cursor'),
    );

    it('is refused when the other list gave it out, which goes on with it', async () => {
      const cursor = await givenOut(other);
      expectRefused(await goingOn(cursor), 400, 'invalid_cursor');
      expect((await service.get(`${listAt(other)}?cursor=${cursor}`)).status).toBe(200);
    });

    it('goes on when it is as one that would be given out', async () => {
      expect(await countIn(forged(whole))).toBe(2);
      expect(await countIn(forged({ ...whole, limit: 1 }))).toBe(1);
      expect(await countIn(forged({ ...whole, filter: { ...whole.filter, search: 'gamma' } }))).toBe(1);
    });

    it.each<[string, unknown]>([
      ['nothing', null],
      ['a text', 'io.acme/alpha'],
      ['a list', [whole]],
      ['no place', { ...whole, after: null }],
      ['a name without a key', { ...whole, after: { name: 'io.acme/alpha' } }],
      ['a name that is a number', { ...whole, after: { name: 1, key: '' } }],
      ['a name with a NUL', { ...whole, after: { name: '\0', key: '' } }],
      ['a key with a NUL', { ...whole, after: { name: '', key: '\0' } }],
      ['no limit', { ...whole, limit: undefined }],
      ['a limit of none', { ...whole, limit: 0 }],
      ['a limit above the highest', { ...whole, limit: 101 }],
      ['half a row', { ...whole, limit: 1.5 }],
      ['a limit that is a text', { ...whole, limit: '5' }],
      ['no filter', { ...whole, filter: null }],
      ['a list of filters', { ...whole, filter: [whole.filter] }],
      ['a search for a number', withFilter({ search: 5 })],
      ['a search for a NUL', withFilter({ search: '\0' })],
      ['a version that is a list', withFilter({ version: ['latest'] })],
      ['a status with a NUL', withFilter({ status: '\0' })],
      ['a time that is none', withFilter({ updatedSince: 'yesterday' })],
      ['a time that PostgreSQL does not know', withFilter({ updatedSince: '2026-02-30T00:00:00.000Z' })],
      ['deleted versions, perhaps', withFilter({ includeDeleted: 'perhaps' })],
    ])('is refused when it holds %s', async (_what, state) => {
      expectRefused(await goingOn(forged(state)), 400, 'invalid_cursor');
    });

    // The list of servers can be asked for these; that of skills is of latest versions, and of no deleted ones.
    it.each<[string, Document]>([
      ['all versions', { version: undefined }],
      ['one exact version', { version: '1.0.0' }],
      ['deleted versions', { includeDeleted: true }],
    ])('opens no list there is not: %s', async (_what, filter) => {
      const cursor = forged(withFilter(filter));
      if (type === 'skill') expectRefused(await goingOn(cursor), 400, 'invalid_cursor');
      else expect(await countIn(cursor)).toBe(2);
    });

    it.each<[string, Document]>([
      ['half a character', { ...whole, after: { name: '\ud800', key: '\udfff' } }],
      ['a long name', { ...whole, after: { name: 'a'.repeat(5_000), key: 'b' } }],
      ['letters that mean something to a pattern', withFilter({ search: '%_\\' })],
      ['a status nobody has', withFilter({ status: 'sleeping' })],
      ['the first of all times', withFilter({ updatedSince: '0001-01-01T00:00:00.000Z' })],
      ['members nobody knows', { ...whole, source: 1, filter: { ...whole.filter, claims: {} } }],
    ])('shows what its reader may see when it holds %s', async (_what, state) => {
      expect((await goingOn(forged(state))).status).toBe(200);
    });

    function withFilter(filter: Document): Document {
      return { ...whole, filter: { ...whole.filter, ...filter } };
    }
  });
});
