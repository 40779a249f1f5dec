import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { Cli } from '../support/cli.js';
import { aDatabase, type TestDatabase } from '../support/database.js';
import { aServer, type Document } from '../support/documents.js';
import { aFolder } from '../support/folder.js';

const MIB = 1024 * 1024;

/** Each page holds what no page before it held, and names a next one. */
const ENDLESS: Record<string, (number: number) => Document> = {
  'of large documents': (number) => ({ ...aServer(`io.acme/s${number}`), more: 'y'.repeat(100_000) }),
  'of large documents in another script': (number) => ({
    ...aServer(`io.acme/s${number}`),
    more: 'ж'.repeat(50_000),
  }),
  'of small documents': (number) => aServer(`io.acme/s${number}`),
};

describe.each(Object.keys(ENDLESS))('a registry without end, %s', (kind) => {
  const folder = aFolder();
  let database: TestDatabase;
  let served: Cli;
  let number = 0;
  const upstream = createServer((request, response) => {
    if (request.url?.includes('skills')) return void response.writeHead(404).end('{}');
    const servers = Array.from({ length: 100 }, () => ({ server: ENDLESS[kind]?.(number++) }));
    response.end(JSON.stringify({ servers, metadata: { nextCursor: `c${number}` } }));
  });
  beforeAll(async () => {
    upstream.listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    database = await aDatabase();
    const endpoint = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
    const configuration = {
      auth: { mode: 'anonymous' },
      database: database.connection,
      sources: [{ name: 'endless', api: { endpoint }, syncPolicy: { interval: '24h' } }],
    };
    served = Cli.serve(folder.write('registry.yaml', stringify(configuration)), {
      NODE_OPTIONS: '--max-old-space-size=384',
    });
  });
  afterAll(async () => {
    served.child.kill('SIGTERM');
    await served.finished;
    upstream.close();
    await database.drop();
  });

  it('fails with the reason, in less than 400 MB of memory, and the server goes on', async () => {
    const log = await served.logs('Sync failed');
    expect(log).toMatch(
      /"error":"(The registry holds more than 128 MiB|What the source holds takes more than 208 MiB)/,
    );
    expect((await fetch(`${await served.origin()}/registry`)).status).toBe(200);
    // Only Linux tells the peak.
    const status =
      process.platform === 'linux' ? readFileSync(`/proc/${served.child.pid}/status`, 'utf8') : '';
    const peak = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
    expect(peak).toBeLessThan(400 * MIB);
  });
});
