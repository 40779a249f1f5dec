import { createServer, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { aCatalogue, aServer } from '../support/documents.js';
import { close, listen, urlOf } from '../support/loopback.js';
import { pauseInSeconds, versionsIn } from '../support/matchers.js';
import { aService } from '../support/service.js';

/** A web server with one catalogue, and what it was asked. */
const asked: IncomingMessage[] = [];
let etag = '"first"';
let content = JSON.stringify(aCatalogue([aServer('io.acme/a')], []));
let redirect: string | undefined;
let status = 200;
let retryAfter: string | undefined;
const upstream = createServer((request, response) => {
  asked.push(request);
  if (redirect !== undefined && request.url === '/catalogue.json')
    return void response.writeHead(302, { Location: redirect }).end();
  if (request.headers['if-none-match'] === etag) return void response.writeHead(304).end();
  if (retryAfter !== undefined) response.setHeader('Retry-After', retryAfter);
  response.writeHead(status, { ETag: etag, 'Content-Type': 'application/json' }).end(content);
});
const url = () => `${urlOf(upstream)}/catalogue.json`;

describe('a registry file behind a URL', () => {
  beforeAll(async () => {
    await listen(upstream);
    service.source('main', { settings: { url: url() }, missing: true });
  });
  afterAll(() => close(upstream));
  beforeEach(() => {
    redirect = retryAfter = undefined;
    status = 200;
  });
  const service = aService()
    .registry('main', { sources: ['main'] })
    .runs();
  const list = async () => versionsIn(await service.get('/registry/main/v0.1/servers'));

  it('is asked for with the tag of the last time, and costs nothing when it has not changed', async () => {
    expect((await service.synced('main')).status).toBe('complete');
    expect(await list()).toEqual(['io.acme/a@1.0.0']);
    asked.length = 0;
    expect((await service.synced('main')).status).toBe('complete');
    expect(asked.map(({ headers }) => headers['if-none-match'])).toEqual([etag]);
    expect(await list()).toEqual(['io.acme/a@1.0.0']);
  });

  it('is read again when its tag is another one, through a redirect too', async () => {
    etag = '"second"';
    content = JSON.stringify(aCatalogue([aServer('io.acme/b')], []));
    redirect = '/moved.json';
    expect((await service.synced('main')).status).toBe('complete');
    expect(await list()).toEqual(['io.acme/b@1.0.0']);
  });

  it.each([
    ['an error', () => (status = 500), /answers with status 500/],
    ['a redirect to no web address', () => (redirect = 'file:///etc/passwd'), /no web address/],
    ['a redirect in circles', () => (redirect = '/catalogue.json'), /redirects more than five times/],
  ])('keeps the earlier entries and says why after %s', async (_what, spoil, sentence) => {
    etag = `"${String(_what)}"`;
    spoil();
    const report = await service.synced('main');
    expect(report.status).toBe('failed');
    expect(report.error).toMatch(sentence);
    expect(await list()).toEqual(['io.acme/b@1.0.0']);
  });

  it.each([
    ['not at all', () => undefined, 5, 15],
    ['for less than the first pause', () => '1', 5, 15],
    ['for longer', () => '600', 600, 700],
    ['until a time', () => new Date(Date.now() + 900_000).toUTCString(), 895, 1_000],
    ['for longer than an hour', () => '86400', 3_600, 4_000],
  ])('is read again when its server lets it: asked to wait %s', async (_what, asked, least, most) => {
    expect((await service.synced('main')).status).toBe('complete');
    status = 429;
    etag = `"${String(_what)}"`;
    retryAfter = asked();
    expect((await service.synced('main')).error).toMatch(/answers with status 429/);
    const pause = await pauseInSeconds(service);
    expect(pause).toBeGreaterThanOrEqual(least);
    expect(pause).toBeLessThan(most);
  });

  it('is not fetched from a private address for a source that was made through the API', async () => {
    const made = await service.put('/v1/sources/made', {
      file: { url: url() },
      syncPolicy: { interval: '1h' },
    });
    expect(made.status).toBe(201);
    const report = await service.synced('made');
    expect(report).toMatchObject({ status: 'failed' });
    expect(report.error).toMatch(/private address/);
    expect((await service.synced('main')).status).toBe('complete');
  });
});
