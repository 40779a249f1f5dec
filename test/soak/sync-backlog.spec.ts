import { createServer, type ServerResponse } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { aCatalogue, aServer } from '../support/documents.js';
import { listensMeanwhile, urlOf } from '../support/loopback.js';
import { aService } from '../support/service.js';

const SOURCES = 24;
/** How many sources a replica reads at a time. */
const AT_ONCE = 4;
/** Slightly less than the interval between two polls for due sources. */
const A_LOOK_MS = 450;

describe('many sources that are due simultaneously', () => {
  const asked: number[] = [];
  const held: [response: ServerResponse, text: string][] = [];
  // Responds to one request at a time, while the others occupy all slots but one: each waits for the end of another
  // run.
  const upstream = createServer((request, response) => {
    asked.push(performance.now());
    held.push([response, JSON.stringify(aCatalogue([aServer(`io.acme/${request.url?.slice(1)}`)]))]);
    while (held.length === AT_ONCE || (asked.length === SOURCES && held.length > 0)) {
      const [[first, text] = []] = held.splice(0, 1);
      first?.end(text);
    }
  });
  listensMeanwhile(upstream);
  const service = aService();
  beforeAll(() => {
    for (let index = 0; index < SOURCES; index += 1)
      service.source(`s${index}`, { settings: { url: `${urlOf(upstream)}/s${index}` } });
  });
  service.runs();

  it('are read back to back, without waiting for the next poll', async () => {
    await expect.poll(() => asked.length).toBe(SOURCES);
    const waits = asked.filter((at, index) => index > 0 && at - (asked[index - 1] ?? at) >= A_LOOK_MS);
    expect(waits.length).toBeLessThan(SOURCES / 2);
  });
});
