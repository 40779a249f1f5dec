import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { Cli } from '../support/cli.js';
import { aDatabase, type TestDatabase } from '../support/database.js';
import { aServer, type Document } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { close, listen, urlOf } from '../support/loopback.js';

const MIB = 1024 * 1024;
/** The settings in the manifests and the image. */
const SHIPPED = { NODE_OPTIONS: '--max-old-space-size=256', MALLOC_MMAP_THRESHOLD_: '131072' };

interface Endless {
  /** Each page has 100 new documents and a next cursor. */
  document: (number: number) => Document;
  /** How many sources read it concurrently. */
  sources: number;
}

const ENDLESS: Record<string, Endless> = {
  'of large documents, read four times concurrently': {
    // Two scripts: a string with a non-Latin-1 letter takes twice the memory.
    document: (number) => ({
      ...aServer(`io.acme/s${number}`),
      more: number % 2 === 0 ? 'y'.repeat(100_000) : 'ж'.repeat(50_000),
    }),
    sources: 4,
  },
  'of small documents': { document: (number) => aServer(`io.acme/s${number}`), sources: 1 },
};

describe.each(Object.keys(ENDLESS))('an endless registry, %s', (kind) => {
  const { document, sources } = ENDLESS[kind] as Endless;
  const folder = aFolder();
  let database: TestDatabase;
  let served: Cli;
  let number = 0;
  const upstream = createServer((request, response) => {
    if (request.url?.includes('skills')) return void response.writeHead(404).end('{}');
    const servers = Array.from({ length: 100 }, () => ({ server: document(number++) }));
    response.end(JSON.stringify({ servers, metadata: { nextCursor: `c${number}` } }));
  });
  beforeAll(async () => {
    await listen(upstream);
    database = await aDatabase();
    const endpoint = urlOf(upstream);
    const configuration = {
      auth: { mode: 'anonymous' },
      database: database.connection,
      sources: Array.from({ length: sources }, (_, count) => ({
        name: `endless-${count}`,
        api: { endpoint },
        syncPolicy: { interval: '24h' },
      })),
    };
    served = Cli.serve(folder.write('registry.yaml', stringify(configuration)), SHIPPED);
  });
  afterAll(async () => {
    served.child.kill('SIGTERM');
    await served.finished;
    await close(upstream);
    await database.drop();
  });

  it('fails with the reason in under 400 MB of memory, and the server keeps running', async () => {
    // A page that is late on a busy machine is retried.
    await served.logs(/"error":"(The registry has more than 128 MiB|The source takes more than 208 MiB)/);
    expect((await fetch(`${await served.origin()}/registry`)).status).toBe(200);
    expect(peakBytes(served)).toBeLessThan(400 * MIB);
  });
});

/** More than fit into the heap together. */
const FILES = 5;
const SERVERS = 10_000;

describe(`${FILES} simultaneous files of 37 MB`, () => {
  const folder = aFolder();
  let database: TestDatabase;
  let served: Cli;
  beforeAll(async () => {
    database = await aDatabase();
    // Keeps the file that is read first in memory.
    await database.query('begin');
    await database.query('lock table entry_version in share mode');
    const padding = 'y'.repeat(37_000_000 / SERVERS - 200);
    const servers = Array.from({ length: SERVERS }, (_, index) =>
      aServer(`io.acme/s${index}`, '1.0.0', { padding }),
    );
    const path = folder.catalogue('catalogue', servers);
    const sources = Array.from({ length: FILES }, (_, index) => ({
      name: `file-${index}`,
      file: { path },
      syncPolicy: { interval: '24h' },
    }));
    const configuration = { auth: { mode: 'anonymous' }, database: database.connection, sources };
    served = Cli.serve(folder.write('registry.yaml', stringify(configuration)), SHIPPED);
  });
  afterAll(async () => {
    served.child.kill('SIGTERM');
    await served.finished;
    await database.drop();
  });

  it('are all read at the first attempt, in under 400 MB of memory', async () => {
    await served.logs('"Sync waits for memory that other syncs hold"');
    await database.query('commit');
    await served.logs(new RegExp(`("Source synced"[^]*){${FILES}}|"Sync failed`));
    expect(served.output).not.toContain('"Sync failed');
    expect(
      await database.query(`select status, attempts, counts->'entries' as entries from source_sync`),
    ).toEqual(Array.from({ length: FILES }, () => ({ status: 'complete', attempts: 0, entries: SERVERS })));
    expect(peakBytes(served)).toBeLessThan(400 * MIB);
  });
});

/** The peak RSS of the process. Only Linux reports it; 0 elsewhere. */
function peakBytes({ child }: Cli): number {
  const status = process.platform === 'linux' ? readFileSync(`/proc/${child.pid}/status`, 'utf8') : '';
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}
