import { createServer, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { aCatalogue, aServer } from '../support/documents.js';
import { close, listen, urlOf } from '../support/loopback.js';
import { pauseInSeconds, versionsIn } from '../support/matchers.js';
import { aService } from '../support/service.js';

/** A web server with one catalog that records its requests. */
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

  it('is requested with If-None-Match, and is not transferred again while unchanged', async () => {
    expect((await service.synced('main')).status).toBe('complete');
    expect(await list()).toEqual(['io.acme/a@1.0.0']);
    asked.length = 0;
    expect((await service.synced('main')).status).toBe('complete');
    expect(asked.map(({ headers }) => headers['if-none-match'])).toEqual([etag]);
    expect(await list()).toEqual(['io.acme/a@1.0.0']);
  });

  it('is read again when its ETag changes, even through a redirect', async () => {
    etag = '"second"';
    content = JSON.stringify(aCatalogue([aServer('io.acme/b')], []));
    redirect = '/moved.json';
    expect((await service.synced('main')).status).toBe('complete');
    expect(await list()).toEqual(['io.acme/b@1.0.0']);
  });

  it.each([
    ['an error', () => (status = 500), /the response has status 500/],
    ['a redirect to a non-web URL', () => (redirect = 'file:///etc/passwd'), /other than an http\(s\) URL/],
    ['a redirect loop', () => (redirect = '/catalogue.json'), /redirects more than five times/],
  ])('keeps the earlier entries and reports the reason after %s', async (_what, spoil, sentence) => {
    etag = `"${String(_what)}"`;
    spoil();
    const report = await service.synced('main');
    expect(report.status).toBe('failed');
    expect(report.error).toMatch(sentence);
    expect(await list()).toEqual(['io.acme/b@1.0.0']);
  });

  it.each([
    ['absent', () => undefined, 5, 15],
    ['shorter than the first back-off', () => '1', 5, 15],
    ['longer than the first back-off', () => '600', 600, 700],
    ['an HTTP date', () => new Date(Date.now() + 900_000).toUTCString(), 880, 1_000],
    ['longer than an hour', () => '86400', 3_600, 4_000],
  ])('is retried according to Retry-After: %s', async (_what, asked, least, most) => {
    expect((await service.synced('main')).status).toBe('complete');
    status = 429;
    etag = `"${String(_what)}"`;
    retryAfter = asked();
    const began = performance.now();
    expect((await service.synced('main')).error).toMatch(/the response has status 429/);
    const took = (performance.now() - began) / 1_000;
    const pause = await pauseInSeconds(service);
    expect(pause).toBeGreaterThanOrEqual(least - took);
    expect(pause).toBeLessThan(most + took);
  });

  it('is not fetched from a private address for an API-made source, with the same error as for an unknown name', async () => {
    for (const address of [url(), 'http://nowhere.invalid/catalogue.json']) {
      const body = { file: { url: address }, syncPolicy: { interval: '1h' } };
      expect((await service.put('/v1/sources/made', body)).status).toBeOneOf([200, 201]);
      expect(await service.synced('made')).toMatchObject({
        status: 'failed',
        error: `${address}: its host is unknown, at a private address, or refuses connections; the server log has the cause`,
      });
    }
    // The log is written after the state.
    const logged = () =>
      service.logs().flatMap(({ source, error }) => (source === 'made' ? [String(error)] : []));
    await expect
      .poll(() => logged().join('\n'))
      .toMatch(/127\.0\.0\.1 is at a private address.*nowhere\.invalid/s);
    expect((await service.synced('main')).status).toBe('complete');
  });
});
