import { afterAll, describe, expect, it, vi } from 'vitest';
import { LargeBodies } from '../../dist/app/large-bodies.js';
import { ACME_WRITER } from '../support/callers.js';
import { aServer, type Document } from '../support/documents.js';
import type { Reply } from '../support/http.js';
import { expectRefused } from '../support/matchers.js';
import { aName } from '../support/publishing.js';
import { aService } from '../support/service.js';

const CLAIMS = { org: 'acme', team: 'platform' };
const JSON_TYPE = { 'Content-Type': 'application/json' };
/** Makes a body large: it is then read in a worker thread. */
const padded = (more: Document = {}): Document => ({
  _meta: { 'com.example/x': 'x'.repeat(80_000) },
  ...more,
});
const detailsOf = ({ json }: Reply) => (json as { details?: string[] }).details;

describe('a large body', () => {
  const service = aService({ mode: 'full' })
    .source('published', { kind: 'managed' })
    .registry('main', { sources: ['published'], claims: { org: 'acme' }, publishClaims: CLAIMS })
    .runs();
  const writer = () => service.as(ACME_WRITER);
  const send = (path: string, text: string) => writer().post(path, text, JSON_TYPE);

  it('is published like a small one, by each route', async () => {
    const server = aServer(aName(), '1.0.0', padded({ title: 'Zürich \u{1f469}\u200d\u{1f4bb}' }));
    const body = { server, claims: CLAIMS };
    for (const path of ['/v1/entries/validate', '/v1/entries?dry_run=true'])
      expect(await writer().post(path, body)).toMatchObject({ status: 200, json: { server } });
    expect(await writer().post('/v1/entries', body)).toMatchObject({
      status: 201,
      json: { server, claims: CLAIMS },
    });
    const next = { ...server, version: '1.1.0', repository: {} };
    const reply = await writer().post('/registry/main/v0/publish', next);
    expect(reply).toMatchObject({
      status: 201,
      json: { server: { version: '1.1.0', title: server['title'] } },
    });
    expect(await service.post('/registry/main/v0/validate', next)).toMatchObject({ json: { valid: true } });
  });

  it.each<[string, Document]>([
    ['an invalid document', { packages: [{}], title: 'a\u202e' }],
    ['a version that exists nowhere', { version: 'latest' }],
  ])('has the same problems as a small one: %s', async (_, more) => {
    const name = aName();
    const of = (size: Document) => ({ server: aServer(name, '1.0.0', { ...size, ...more }), claims: CLAIMS });
    const [small, large] = [
      await writer().post('/v1/entries', of({})),
      await writer().post('/v1/entries', of(padded())),
    ];
    expectRefused(large, 400, 'invalid_document');
    expect(detailsOf(large)).toEqual(expect.arrayContaining(detailsOf(small)?.slice(0, 1) ?? []));
    const validated = await service.post('/registry/main/v0/validate', of(padded()).server);
    expect(validated).toMatchObject({ status: 200, json: { valid: false } });
  });

  it.each<[string, (pad: string) => string, string]>([
    ['malformed JSON', (pad) => `{"server":"${pad}"`, 'malformed_json'],
    ['a list', (pad) => `["${pad}"]`, 'invalid_body'],
    ['nesting', (pad) => `{"server":"${pad}","x":${'['.repeat(200)}${']'.repeat(200)}}`, 'invalid_body'],
    ['a repeated key', (pad) => `{"server":{"a":"${pad}","a":1}}`, 'invalid_body'],
    ['lost digits', (pad) => `{"server":{"a":"${pad}","b":12345678901234567}}`, 'invalid_body'],
    ['an unknown key', (pad) => `{"servers":"${pad}"}`, 'invalid_body'],
    ['two documents', (pad) => `{"server":"${pad}","skill":{}}`, 'invalid_body'],
  ])('is refused like a small one: %s', async (_, text, code) => {
    const [small, large] = [text('x'), text('x'.repeat(80_000))];
    const [one, other] = [await send('/v1/entries', small), await send('/v1/entries', large)];
    expectRefused(one, 400, code);
    expectRefused(other, 400, code);
    expect(detailsOf(other)).toEqual(detailsOf(one));
  });

  it('has at most 20,000 values outside its document', async () => {
    const server = aServer(aName(), '1.0.0', { _meta: { 'com.example/x': new Array(15_000).fill(1) } });
    const most = { server, claims: CLAIMS };
    expect((await writer().post('/v1/entries/validate', most)).status).toBe(200);
    const many = new Array<number>(60_000).fill(1);
    expectRefused(await writer().post('/v1/entries/validate', { ...most, many }), 400, 'invalid_body');
    const claims = { org: Array.from({ length: 30_000 }, (_, n) => `v${n}`) };
    for (const body of [{ server, claims }, { claims }])
      expectRefused(await writer().post('/v1/entries/validate', body), 400, 'too_many_claims');
    const asked = { registry: 'main', action: 'publish', claims };
    expectRefused(await writer().post('/v1/access/explain', asked), 400, 'too_many_claims');
  });
});

describe('reading large bodies', () => {
  const bodies = new LargeBodies();
  afterAll(() => bodies.onApplicationShutdown());
  const noSignal = new AbortController().signal;
  const server = {
    ...aServer('io.acme/many'),
    _meta: { x: Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`k${n}`, n])) },
  };
  const bytes = Buffer.from(JSON.stringify({ server }));
  const read = (key: string) => bodies.read(bytes, 'member', key, noSignal);

  it('does not block the event loop', async () => {
    let turns = 0;
    let isDone = false;
    const turn = () => {
      turns += 1;
      if (!isDone) setImmediate(turn);
    };
    setImmediate(turn);
    await read('one');
    isDone = true;
    expect(turns).toBeGreaterThan(100);
  });

  it('serves callers in turn, one body at a time', async () => {
    const order: string[] = [];
    const reading = ['greedy', 'greedy', 'greedy', 'modest'].map((key) =>
      read(key).then(() => order.push(key)),
    );
    await Promise.all(reading);
    expect(order).toEqual(['greedy', 'greedy', 'modest', 'greedy']);
  });

  it('is refused as overloaded when it takes longer than 10 s, and the next body is read', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const late = expect(read('one')).rejects.toMatchObject({ code: 'overloaded' });
    await vi.advanceTimersByTimeAsync(10_000);
    vi.useRealTimers();
    await late;
    await expect(read('one')).resolves.toBeDefined();
  });
});
