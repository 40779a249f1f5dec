import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type GetRequest, HttpClient, OutboundError } from '../../dist/outbound/http-client.js';
import { anIssuer } from '../support/issuer.js';

const KEY = 'a-key-in-the-query';
const CONTENT = JSON.stringify({ answer: 'x'.repeat(1_000) });
const LIMITS = { timeoutMs: 5_000, maxBytes: 2_000, allowPrivate: true };
const followingAll: GetRequest = { ...LIMITS, redirects: 'any-origin' };
const withinOrigin: GetRequest = { ...LIMITS, redirects: 'same-origin' };

/** `/N` redirects N times, `/to?URL` redirects to URL, `/status?N` returns status N; other paths return the content. */
const received: { request: IncomingMessage; body: string }[] = [];
const server = createServer((request, response) => {
  void text(request).then((body) => {
    received.push({ request, body });
    const [path = '', query = ''] = (request.url ?? '').split('?');
    const redirects = Number(path.slice(1));
    if (redirects > 0) response.writeHead(302, { Location: `/${redirects - 1}` });
    else if (path === '/to') response.writeHead(307, { Location: decodeURIComponent(query) });
    else if (path === '/status') response.writeHead(Number(query));
    if (path === '/nested') response.end(nested(Number(query)));
    else response.end(path === '/garbage' ? `{"${KEY}` : CONTENT);
  });
});
const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
const encrypted = anIssuer({ tls: true }).runs();
let client: HttpClient;
const port = () => (server.address() as AddressInfo).port;
const at = (path: string, host = '127.0.0.1') => `http://${host}:${port()}${path}`;

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  client = new HttpClient({ maxConnections: 2, caCert: encrypted.ca });
});
beforeEach(() => void received.splice(0));
afterAll(async () => {
  await client.close();
  server.close();
});

describe('a response', () => {
  it('comes with its digest', async () => {
    const { status, bytes, digest } = await client.get(at('/'), followingAll);
    expect({ status, content: bytes.toString() }).toEqual({ status: 200, content: CONTENT });
    expect(digest).toEqual(createHash('sha256').update(CONTENT).digest());
  });

  it('with another status is empty, and an error when read as JSON', async () => {
    expect(await client.get(at('/status?404'), followingAll)).toMatchObject({
      status: 404,
      bytes: Buffer.alloc(0),
    });
    await expect(client.getJson(at('/status?404'), followingAll)).rejects.toMatchObject({
      message: `${at('/status')}: it responded with status 404`,
      status: 404,
    });
  });

  it('may be as long as the limit and not one byte longer', async () => {
    const maxBytes = CONTENT.length;
    expect((await client.get(at('/'), { ...followingAll, maxBytes })).bytes).toHaveLength(maxBytes);
    const asking = client.get(at('/'), { ...followingAll, maxBytes: maxBytes - 1 });
    await expect(asking).rejects.toThrow(/the response is larger than/);
  });

  it('that is not JSON causes an error that quotes neither its text nor the query', async () => {
    const failure = await client
      .getJson(at(`/garbage?${KEY}`), followingAll)
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(OutboundError);
    expect(String(failure)).toBe(`OutboundError: ${at('/garbage')}: the response is not JSON`);
    expect(String((failure as Error).stack)).not.toContain(KEY);
  });
});

describe('a JSON response', () => {
  it('has at most 128 levels, and deeper ones are not parsed', async () => {
    const roomy = { ...followingAll, maxBytes: 2_000_000 };
    expect(JSON.stringify(await client.getJson(at('/nested?128'), roomy))).toBe(nested(128));
    for (const levels of [129, 500_000])
      await expect(client.getJson(at(`/nested?${levels}`), roomy)).rejects.toThrow(
        /the response is not JSON$/,
      );
  });
});

describe('a redirect', () => {
  it.each<[GetRequest['redirects'], number]>([
    ['same-origin', 3],
    ['any-origin', 5],
  ])('with policy %s is followed at most %i times', async (redirects, times) => {
    expect((await client.get(at(`/${times}`), { ...LIMITS, redirects })).status).toBe(200);
    await expect(client.get(at(`/${times + 1}`), { ...LIMITS, redirects })).rejects.toThrow(
      /redirects more than (three|five) times/,
    );
  });

  it('to another origin, where allowed, is followed without credentials', async () => {
    const url = at(`/to?${encodeURIComponent(at('/', 'localhost'))}`);
    const authorization = 'Bearer of-the-first-origin';
    expect((await client.get(url, { ...followingAll, authorization })).status).toBe(200);
    expect(received.map(({ request }) => request.headers.authorization)).toEqual([authorization, undefined]);
    await expect(client.get(url, { ...withinOrigin, authorization })).rejects.toThrow(/to another origin/);
    expect(received).toHaveLength(3);
  });

  it('from https to http is not followed', async () => {
    encrypted.injectFault('jwks', { redirect: at('/') });
    await expect(client.get(encrypted.jwksUrl, followingAll)).rejects.toThrow(/from https to http/);
    expect(received).toEqual([]);
    encrypted.behave();
    expect((await client.get(encrypted.jwksUrl, { ...followingAll, maxBytes: 10_000 })).status).toBe(200);
  });

  it('of a form POST is not followed', async () => {
    const form = { token: 'not for everybody' };
    expect(await client.postForm(at('/'), form, LIMITS)).toEqual(JSON.parse(CONTENT));
    expect(received[0]?.body).toBe('token=not+for+everybody');
    await expect(client.postForm(at('/1'), form, LIMITS)).rejects.toMatchObject({ status: 302 });
    expect(received).toHaveLength(2);
  });
});
