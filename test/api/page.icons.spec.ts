import { createServer, type ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ACME_DATA, ACME_PLATFORM } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { close, listen, urlOf } from '../support/loopback.js';
import { expectRefused } from '../support/matchers.js';
import { aService } from '../support/service.js';

/** A PNG file's header; nothing after it is decoded here. */
function png(width: number, height = width, bytes = 200): Buffer {
  const picture = Buffer.alloc(bytes);
  picture.write('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1');
  picture.writeUInt32BE(width, 16);
  picture.writeUInt32BE(height, 20);
  return picture;
}

const asked: { url: string | undefined; headers: object }[] = [];
const slow: ServerResponse[] = [];
const MANY = 60;
let elsewhere = '';
/** Bodies by path. */
const FILES: Record<string, Buffer | string> = {
  '/good.png': png(64),
  '/most.png': png(1_024, 1_024, 256 * 1_024),
  '/wide.png': png(1_025, 1),
  '/bomb.png': png(65_535),
  '/large.png': png(64, 64, 256 * 1_024 + 1),
  '/cut.png': png(64).subarray(0, 20),
  '/page.png': '<!doctype html><script>alert(1)</script>',
  '/script.png': 'alert(1)',
  '/both.png': Buffer.concat([Buffer.from('<script>alert(1)</script>'), png(64)]),
  '/logo.svg': '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
  '/lol.svg': '<!DOCTYPE svg [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><svg>&b;</svg>',
  '/nothing.png': '',
};
const icons = createServer(({ url, headers }, response) => {
  asked.push({ url, headers });
  if (url?.startsWith('/slow.png')) return void slow.push(response);
  if (url === '/moved.png') return void response.writeHead(302, { Location: '/good.png' }).end();
  if (url === '/away.png') return void response.writeHead(302, { Location: `${elsewhere}/good.png` }).end();
  const file = FILES[(url ?? '').replace(/\?.*/, '')];
  // The server never trusts the declared type.
  response.writeHead(file === undefined ? 404 : 200, { 'Content-Type': 'image/png' }).end(file);
});
const other = createServer(({ url, headers }, response) => {
  asked.push({ url, headers });
  response.end(png(64));
});

describe('icons of entries', () => {
  beforeAll(async () => {
    await Promise.all([listen(icons), listen(other)]);
    elsewhere = urlOf(other);
    const { port } = new URL(urlOf(icons));
    const withIcon = (name: string, ...sources: string[]) =>
      aServer(`io.acme/${name}`, '1.0.0', {
        icons: sources.map((src) => ({ src: src.startsWith('/') ? `${urlOf(icons)}${src}` : src })),
      });
    service.configuration({ web: { iconOrigins: [urlOf(icons)] } }).source('main', {
      claims: { org: 'acme', team: 'platform' },
      servers: [
        aServer('io.acme/none'),
        withIcon('good', '/good.png'),
        withIcon('most', '/most.png'),
        withIcon('moved', '/moved.png'),
        withIcon('second', '/none.png', '/good.png?second'),
        withIcon('fourth', '/none.png?1', '/none.png?2', '/none.png?3', '/good.png?fourth'),
        withIcon('fiftieth', ...Array(49).fill('https://elsewhere.example/x.png'), '/good.png'),
        withIcon('fifty-first', ...Array(50).fill('https://elsewhere.example/x.png'), '/good.png'),
        withIcon('shared', '/shared.png'),
        withIcon('slow', '/slow.png'),
        withIcon('quick', '/good.png?quick'),
        ...Array.from({ length: MANY }, (_, index) => withIcon(`slow-${index}`, `/slow.png?${index}`)),
        ...HOSTILE.map(([name, src]) => withIcon(name, src)),
        withIcon('elsewhere', `${elsewhere}/good.png`),
        withIcon('user', `http://127.0.0.1:${port}@127.0.0.1:${new URL(elsewhere).port}/good.png`),
        withIcon('subdomain', `http://127.0.0.1.example:${port}/good.png`),
      ],
    });
  });
  afterAll(() => Promise.all([close(icons), close(other)]));
  const HOSTILE: readonly (readonly [name: string, src: string])[] = [
    'wide.png',
    'bomb.png',
    'large.png',
    'cut.png',
    'page.png',
    'script.png',
    'both.png',
    'logo.svg',
    'lol.svg',
    'nothing.png',
    'away.png',
    'missing.png',
  ].map((file) => [file.replace('.', '-'), `/${file}`]);
  const service = aService({ mode: 'full' })
    .registry('main', { sources: ['main'] })
    .runs();
  const icon = (name: string, headers: Record<string, string> = {}) =>
    service
      .as(ACME_PLATFORM)
      .get(`/registry/main/v0.1/x/icon/server/${encodeURIComponent(`io.acme/${name}`)}`, headers);

  it('are served with their own media types, and revalidated', async () => {
    const reply = await icon('good');
    expect({ status: reply.status, headers: reply.headers }).toMatchObject({
      status: 200,
      headers: {
        'content-type': 'image/png',
        'content-length': '200',
        'cache-control': 'private, no-cache',
        'x-content-type-options': 'nosniff',
        'content-security-policy': "default-src 'none';style-src 'unsafe-inline';sandbox",
      },
    });
    expect((await icon('good', { 'If-None-Match': String(reply.headers['etag']) })).status).toBe(304);
  });

  it.each(['most', 'moved', 'second', 'fiftieth'])('are served at the limits: %s', async (name) =>
    expect((await icon(name)).status).toBe(200),
  );

  it.each([
    'none',
    'fourth',
    'fifty-first',
    'elsewhere',
    'user',
    'subdomain',
    ...HOSTILE.map(([name]) => name),
  ])('are left out beyond them: %s', async (name) => {
    const { status, text } = await icon(name);
    expect({ status, text }).toEqual({ status: 204, text: '' });
  });

  it('are fetched once, only from listed origins, without anything about the person', async () => {
    asked.length = 0;
    FILES['/shared.png'] = png(32);
    const replies = await Promise.all(Array.from({ length: 5 }, () => icon('shared')));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect((await icon('shared')).status).toBe(200);
    expect(asked.map(({ url }) => url)).toEqual(['/shared.png']);
    expect(Object.keys(asked[0]?.headers ?? {})).not.toContain('authorization');
    expect(Object.keys(asked[0]?.headers ?? {})).not.toContain('referer');
    await icon('elsewhere');
    await icon('away-png');
    expect(asked).toHaveLength(1);
  });

  it('are refused to callers who do not see the entry, exactly like a missing one', async () => {
    const hidden = await service
      .as(ACME_DATA)
      .get(`/registry/main/v0.1/x/icon/server/${encodeURIComponent('io.acme/good')}`);
    expectRefused(hidden, 404, 'entry_not_found');
    expectRefused(await icon('unknown'), 404, 'entry_not_found');
    expectRefused(
      await service.get('/registry/main/v0.1/x/icon/server/io.acme%2Fgood'),
      401,
      'token_missing',
    );
    expectRefused(
      await service.as(ACME_PLATFORM).get('/registry/main/v0.1/x/icon/thing/io.acme%2Fgood'),
      404,
      'entry_not_found',
    );
  });

  it('of a slow host end after five seconds', async () => {
    expect((await icon('slow')).status).toBe(204);
    expect(slow).toHaveLength(1);
    for (const response of slow.splice(0)) response.destroy();
  });

  it('are fetched in turn by caller', async () => {
    const path = (name: string) =>
      `/registry/main/v0.1/x/icon/server/${encodeURIComponent(`io.acme/${name}`)}`;
    const many = Array.from({ length: MANY }, (_, index) => icon(`slow-${index}`));
    await expect.poll(() => slow.length).toBe(8);
    let answered: number | undefined;
    const another = service.as({ ...ACME_PLATFORM, sub: 'another' });
    void another.get(path('quick')).then(({ status }) => (answered = status));
    // The request before these waits for its turn once they have responses.
    for (let request = 0; request < 5; request += 1)
      expect((await another.get('/registry/main/v0.1/servers/io.acme%2Fquick/versions/latest')).status).toBe(
        200,
      );
    let released = 0;
    for (; released < MANY && answered === undefined; released += 1) {
      await expect.poll(() => slow.length > 0 || answered !== undefined).toBe(true);
      slow.shift()?.destroy();
    }
    expect(answered).toBe(200);
    expect(released).toBeLessThan(MANY / 2);
    const release = setInterval(() => slow.splice(0).forEach((response) => response.destroy()), 10);
    const statuses = (await Promise.all(many)).map(({ status }) => status);
    clearInterval(release);
    expect(statuses).toEqual(Array(MANY).fill(204));
  });
});
