import { createServer } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { aCatalogue, aServer } from '../support/documents.js';
import { listensMeanwhile, urlOf } from '../support/loopback.js';
import { aService } from '../support/service.js';

const SOURCES = 48;
/** Slightly less than the interval between two polls for due sources. */
const A_LOOK_MS = 450;

describe('many sources that are due at once', () => {
  const asked: number[] = [];
  const upstream = createServer((request, response) => {
    asked.push(performance.now());
    response.end(JSON.stringify(aCatalogue([aServer(`io.acme/${request.url?.slice(1)}`)])));
  });
  listensMeanwhile(upstream);
  const service = aService();
  beforeAll(() => {
    for (let index = 0; index < SOURCES; index += 1)
      service.source(`s${index}`, { settings: { url: `${urlOf(upstream)}/s${index}` } });
  });
  service.runs();

  it('are read back to back, without waiting for the next poll', () => {
    expect(asked.length).toBe(SOURCES);
    const waits = asked.filter((at, index) => index > 0 && at - (asked[index - 1] ?? at) >= A_LOOK_MS);
    expect(waits.length).toBeLessThan(SOURCES / 8);
  });
});
