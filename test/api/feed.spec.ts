import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../support/answers.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer, aSkill } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import type { Reply } from '../support/http.js';
import { aKey } from '../support/registry-keys.js';
import { aService } from '../support/service.js';

const folder = aFolder();
const key = aKey();
const acme = { org: 'acme' };
const service = aService({ mode: 'full' })
  .source('first', {
    servers: [aServer('com.acme/shared', '2.0.0', { title: 'Shared <&> "quoted"' }), aServer('com.acme/old')],
    claims: { org: ['acme', 'first'] },
  })
  .source('second', { servers: [aServer('com.acme/shared', '1.0.0')], claims: acme })
  .source('hidden', { servers: [aServer('com.contoso/hidden')], claims: { org: 'contoso' } })
  .source('published', { kind: 'managed' })
  .registry('main', {
    sources: ['first', 'second', 'hidden', 'published'],
    claims: acme,
    keys: [{ name: 'reader', secretFile: folder.write('key', key), claims: { org: ['acme', 'first'] } }],
  })
  .registry('open', { sources: ['second', 'hidden'], anonymous: { claims: acme } })
  .registry('empty', { sources: ['hidden'], claims: acme })
  .runs();
const FEED = '/registry/main/x/feed.atom';
const titles = ({ status, text }: Reply) => {
  expect(status).toBe(200);
  return [...text.matchAll(/<entry>[\s\S]*?<title>(.*)<\/title>/g)].map(([, title]) => title);
};
const publish = async (body: object) =>
  expect((await service.as(SUPER_ADMIN).post('/v1/entries', { ...body, claims: acme })).status).toBe(201);

describe('feed.atom', () => {
  it("contains the caller's view: the latest version of each name, newest change first", async () => {
    await publish({ server: aServer('com.acme/new', '1.0.0') });
    await publish({ skill: aSkill('com.acme/review', '1.0.0') });
    await publish({ server: aServer('com.acme/new', '1.1.0') });
    const all = titles(await service.as({ org: ['acme', 'first'] }).get(FEED));
    expect(all.slice(0, 2)).toEqual(['com.acme/new 1.1.0', expect.stringMatching(/ 1\.0\.0$/)]);
    expect(all).toContain('Shared &lt;&amp;&gt; &quot;quoted&quot; (com.acme/shared) 2.0.0');
    expect(all).toHaveLength(4);
    // An entry that the caller does not see shadows nothing.
    expect(titles(await service.as(acme).get(FEED))).toContain('com.acme/shared 1.0.0');
    expect(titles(await service.as(acme).get('/registry/empty/x/feed.atom'))).toEqual([]);
  });

  it('leaves out entries whose versions are all deleted', async () => {
    await publish({ server: aServer('com.acme/gone') });
    const title = 'com.acme/gone 1.0.0';
    expect(titles(await service.as(acme).get(FEED))).toContain(title);
    const path = '/v1/entries/server/com.acme%2Fgone/versions/1.0.0';
    expect((await service.as(SUPER_ADMIN).send('DELETE', path)).status).toBe(204);
    expect(titles(await service.as(acme).get(FEED))).not.toContain(title);
  });

  it('has an ETag, and returns 304 until the view changes', async () => {
    const sender = service.as(acme);
    const { headers } = await sender.get(FEED);
    expect(headers).toMatchObject({
      'content-type': 'application/atom+xml; charset=utf-8',
      'cache-control': 'private, no-cache',
      vary: expect.stringContaining('Authorization') as string,
    });
    const etag = String(headers['etag']);
    expect((await sender.get(FEED, { 'If-None-Match': etag })).status).toBe(304);
    await publish({ server: aServer('com.acme/another') });
    expect((await sender.get(FEED, { 'If-None-Match': etag })).status).toBe(200);
  });

  it('is served under a key and without a token, and no link contains the key', async () => {
    const reply = await service.get(`/registry/main/k/${key}/x/feed.atom`);
    expect(titles(reply)).toContain('Shared &lt;&amp;&gt; &quot;quoted&quot; (com.acme/shared) 2.0.0');
    expect(reply.text).not.toContain(key);
    expect(reply.text).toBe((await service.as({ org: ['acme', 'first'] }).get(FEED)).text);
    for (const [, link = ''] of reply.text.matchAll(/<link href="([^"]+)"/g)) {
      const { pathname } = new URL(link, `http://x/registry/main/k/${key}/x/feed.atom`);
      expect((await service.get(pathname)).status).toBe(200);
    }
    expect(titles(await service.get('/registry/open/x/feed.atom'))).toEqual(['com.acme/shared 1.0.0']);
  });

  it('is behind the same gate as every other read', async () => {
    expect(outcomeOf(await service.get(FEED))).toBe('401 token_missing');
    expect(outcomeOf(await service.as({ org: 'contoso' }).get(FEED))).toBe('403 registry_forbidden');
    expect(outcomeOf(await service.as(acme).get('/registry/none/x/feed.atom'))).toBe(
      '404 registry_not_found',
    );
  });

  it('has at most 100 entries', async () => {
    const servers = Array.from({ length: 120 }, (_, at) => aServer(`com.acme/many${at}`));
    await service.rewrite('second', { servers });
    await service.synced('second');
    expect(titles(await service.as(acme).get(FEED))).toHaveLength(100);
  });
});
