import { createServer, type ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { Clock } from '../support/clock.js';
import { aCatalogue, aServer } from '../support/documents.js';
import { listensMeanwhile, urlOf } from '../support/loopback.js';
import { aService } from '../support/service.js';

/** Runs that last longer are slow. */
const SLOW_MS = 31_000;
const SLOW_RUNS = 4;

describe('slow upstreams of sources created through the API', () => {
  /** Open requests for `/slow/NAME`; all others are answered at once. */
  const held = new Map<string, ServerResponse>();
  const answer = (response: ServerResponse | undefined) =>
    response?.end(JSON.stringify(aCatalogue([aServer('io.acme/a')])));
  const upstream = createServer(({ url = '' }, response) => {
    if (url.startsWith('/slow/')) held.set(url.slice('/slow/'.length), response);
    else answer(response);
  });
  const clock = new Clock().runs();
  listensMeanwhile(upstream);
  const service = aService()
    .configuration({ adminAllowPrivateIP: true })
    .source('configured', { servers: [aServer('io.acme/configured')] })
    .runs();
  afterEach(() => {
    for (const response of held.values()) answer(response);
    held.clear();
  });
  const put = async (name: string, org: string, path = `slow/${name}`) => {
    const body = {
      file: { url: `${urlOf(upstream)}/${path}` },
      syncPolicy: { interval: '1h' },
      claims: { org },
    };
    expect((await service.put(`/v1/sources/${name}`, body)).status).toBe(201);
  };
  const statusOf = async (name: string) =>
    ((await service.get(`/v1/sources/${name}`)).json as { sync: { status: string } }).sync.status;
  const patience = { timeout: 20_000 };
  /** Starts as many slow runs as fit at once. */
  const stall = async (org: string, prefix: string) => {
    for (let index = 0; index < SLOW_RUNS; index += 1) await put(`${prefix}-${index}`, org);
    await expect
      .poll(() => [...held.keys()].filter((name) => name.startsWith(prefix)).length, patience)
      .toBe(SLOW_RUNS);
    clock.passes(SLOW_MS);
  };

  it('delay further sources with the same claims, but none with others', async () => {
    await stall('red', 'one');
    await put('one-late', 'red', 'quick');
    await put('blue', 'blue', 'quick');
    // It was due later.
    await expect.poll(() => statusOf('blue'), patience).toBe('complete');
    expect(await statusOf('one-late')).toBe('pending');
    for (const name of ['one-0', 'one-1', 'one-2']) answer(held.get(name));
    await expect.poll(() => statusOf('one-late'), patience).toBe('complete');
  });

  it('together leave room for the sources of the configuration', async () => {
    await stall('red', 'two');
    await stall('green', 'three');
    await put('violet', 'violet', 'quick');
    expect(await service.synced('configured')).toMatchObject({ status: 'complete' });
    expect(await statusOf('violet')).toBe('pending');
    answer(held.get('three-0'));
    await expect.poll(() => statusOf('violet'), patience).toBe('complete');
  });
});
