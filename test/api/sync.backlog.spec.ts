import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aCatalogue, aServer } from '../support/documents.js';
import { aService } from '../support/service.js';

const SOURCES = 48;
/** Nearly the time between two looks for due sources. */
const A_LOOK_MS = 450;

describe('many sources that are due at once', () => {
  const asked: number[] = [];
  const upstream = createServer((request, response) => {
    asked.push(performance.now());
    response.end(JSON.stringify(aCatalogue([aServer(`io.acme/${request.url?.slice(1)}`)])));
  });
  const service = aService();
  beforeAll(async () => {
    upstream.listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    const { port } = upstream.address() as AddressInfo;
    for (let index = 0; index < SOURCES; index += 1)
      service.source(`s${index}`, { settings: { url: `http://127.0.0.1:${port}/s${index}` } });
  });
  service.runs();
  afterAll(() => upstream.close());

  it('are read one right after the other, without a wait after each few', () => {
    expect(asked.length).toBe(SOURCES);
    const waits = asked.filter((at, index) => index > 0 && at - (asked[index - 1] ?? at) >= A_LOOK_MS);
    expect(waits.length).toBeLessThan(SOURCES / 8);
  });
});
