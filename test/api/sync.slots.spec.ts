import { createServer, type ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { Clock } from '../support/clock.js';
import { aCatalogue, aServer } from '../support/documents.js';
import { listensMeanwhile, urlOf } from '../support/loopback.js';
import type { Sender } from '../support/http.js';
import { aService } from '../support/service.js';

/** Runs that last longer are slow. */
const SLOW_MS = 31_000;
const SLOW_RUNS = 4;

const answer = (response: ServerResponse | undefined) =>
  response?.end(JSON.stringify(aCatalogue([aServer('io.acme/a')])));

/** An upstream on which requests for `/slow/NAME` stay open; all others get an immediate response. */
function aSlowUpstream() {
  const held = new Map<string, ServerResponse>();
  const requested: string[] = [];
  const upstream = createServer(({ url = '' }, response) => {
    requested.push(url.slice(url.lastIndexOf('/') + 1));
    if (url.startsWith('/slow/')) held.set(url.slice('/slow/'.length), response);
    else answer(response);
  });
  const clock = new Clock().runs();
  // The slow requests use all connections to their host.
  const other = createServer((_request, response) => answer(response));
  listensMeanwhile(upstream);
  listensMeanwhile(other);
  afterEach(() => {
    for (const response of held.values()) answer(response);
    held.clear();
  });
  const put = async (by: Sender, name: string, claims: object, path = `slow/${name}`) => {
    const host = urlOf(path === 'elsewhere' ? other : upstream);
    const body = { file: { url: `${host}/${path}` }, syncPolicy: { interval: '1h' }, claims };
    expect((await by.put(`/v1/sources/${name}`, body)).status).toBe(201);
  };
  /** Starts as many slow runs as can run concurrently. */
  const stall = async (by: Sender, prefix: string, claims: object) => {
    for (let index = 0; index < SLOW_RUNS; index += 1) await put(by, `${prefix}-${index}`, claims);
    await expect
      .poll(() => [...held.keys()].filter((name) => name.startsWith(prefix)).length)
      .toBe(SLOW_RUNS);
  };
  const becomesSlow = () => clock.passes(SLOW_MS);
  return { held, requested, put, stall, becomesSlow };
}
const statusOf = async (by: Sender, name: string) =>
  ((await by.get(`/v1/sources/${name}`)).json as { sync: { status: string } }).sync.status;

describe('slow upstreams of sources created through the API', () => {
  const { held, put, stall, becomesSlow } = aSlowUpstream();
  const service = aService()
    .configuration({ adminAllowPrivateIP: true })
    .source('configured', { servers: [aServer('io.acme/configured')] })
    .runs();

  it('delay further sources with the same claims, but none with others', async () => {
    await stall(service, 'one', { org: 'red' });
    becomesSlow();
    await put(service, 'one-late', { org: 'red' }, 'quick');
    await put(service, 'blue', { org: 'blue' }, 'quick');
    // It was due later.
    await expect.poll(() => statusOf(service, 'blue')).toBe('complete');
    expect(await statusOf(service, 'one-late')).toBe('pending');
    for (const name of ['one-0', 'one-1', 'one-2']) answer(held.get(name));
    await expect.poll(() => statusOf(service, 'one-late')).toBe('complete');
  });

  it('together leave room for configured sources', async () => {
    await stall(service, 'two', { org: 'red' });
    becomesSlow();
    await stall(service, 'three', { org: 'green' });
    becomesSlow();
    await put(service, 'violet', { org: 'violet' }, 'quick');
    expect(await service.synced('configured')).toMatchObject({ status: 'complete' });
    expect(await statusOf(service, 'violet')).toBe('pending');
    answer(held.get('three-0'));
    await expect.poll(() => statusOf(service, 'violet')).toBe('complete');
  });
});

describe('sources of one person', () => {
  const { held, requested, put, stall, becomesSlow } = aSlowUpstream();
  const service = aService({ mode: 'full' }).configuration({ adminAllowPrivateIP: true }).runs();
  const red = () => service.as({ sub: 'rita', org: 'red', role: 'admin', team: ['a', 'b', 'c'] });
  const blue = () => service.as({ sub: 'bob', org: 'blue', role: 'admin' });

  it('delay the syncs of another person by one turn, however many there are', async () => {
    await put(blue(), 'blue-first', { org: 'blue' }, 'quick/blue-first');
    await expect.poll(() => statusOf(blue(), 'blue-first')).toBe('complete');
    await stall(red(), 'red-held', { org: 'red' });
    const before = requested.length;
    for (const index of [1, 2, 3]) await put(red(), `red-${index}`, { org: 'red' }, `quick/red-${index}`);
    await put(blue(), 'blue-next', { org: 'blue' }, 'quick/blue-next');
    answer(held.get('red-held-0'));
    await expect.poll(() => statusOf(red(), 'red-3')).toBe('complete');
    expect(requested.slice(before)).toEqual(['blue-next', 'red-1', 'red-2', 'red-3']);
  });

  it('delay no others when they are slow, regardless of claims', async () => {
    await stall(red(), 'slow-a', { org: 'red', team: 'a' });
    becomesSlow();
    await stall(red(), 'slow-b', { org: 'red', team: 'b' });
    becomesSlow();
    await put(red(), 'red-late', { org: 'red', team: 'c' }, 'quick/red-late');
    await put(blue(), 'blue-late', { org: 'blue' }, 'elsewhere');
    await expect.poll(() => statusOf(blue(), 'blue-late')).toBe('complete');
    expect(await statusOf(red(), 'red-late')).toBe('pending');
    answer(held.get('slow-a-0'));
    await expect.poll(() => statusOf(red(), 'red-late')).toBe('complete');
  });
});
