import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { CachedJson, madeForExpress } from './json-answers.js';

const MIB = 1024 * 1024;

describe('a cached JSON response', () => {
  it.each([
    [0, false],
    [999, false],
    [1_000, true],
    [4 * MIB, true],
    [4 * MIB + 1, false],
  ])('of %i bytes is compressible: %s', (length, compressible) => {
    expect(new CachedJson(['x'.repeat(length)]).isCompressible).toBe(compressible);
  });

  it('counts each encoding once and reports growth', async () => {
    const sizes: number[] = [];
    const json: CachedJson = new CachedJson(['x'.repeat(1_000), 'x'.repeat(1_000)], {}, () =>
      sizes.push(json.size),
    );
    expect(json.size).toBe(2_000);
    const [gzip, same] = await Promise.all([json.compressed('gzip'), json.compressed('gzip')]);
    const brotli = await json.compressed('br');
    expect(same).toBe(gzip);
    expect(sizes).toEqual([2_000 + gzip.length, 2_000 + gzip.length + brotli.length]);
  });
});

const { setPrototypeOf } = Object;

afterEach(() => void vi.restoreAllMocks());

/** Returns the number of requests and responses whose prototype Express replaced. */
async function changedPrototypes(serve: (app: express.Express) => Server): Promise<number> {
  const app = express();
  app.get('/', (request, response) => void response.json({ host: request.get('host') }));
  const server = serve(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  let changed = 0;
  vi.spyOn(Object, 'setPrototypeOf').mockImplementation((object: object, prototype: object | null) => {
    const isOfExpress = prototype === app.request || prototype === app.response;
    if (isOfExpress && Object.getPrototypeOf(object) !== prototype) changed += 1;
    return setPrototypeOf(object, prototype) as unknown;
  });
  const { port } = server.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}/`);
  expect(await answer.json()).toEqual({ host: `127.0.0.1:${port}` });
  server.close();
  return changed;
}

it('Node creates requests and responses with the prototypes that Express would set', async () => {
  expect(await changedPrototypes((app) => createServer(app))).toBe(2);
  expect(await changedPrototypes((app) => createServer(madeForExpress(app), app))).toBe(0);
});
