// Measures syncs of 10,000 servers of 1.5 to 4 KB from a file: into an empty source, unchanged, reformatted,
// and with one in ten changed. The baseline is a COPY of the same rows into identical tables and indexes on the
// same PostgreSQL server, with default settings (fsync on). Rounds alternate, so that noise affects all alike.
// Also measures the longest block of the event loop. Leaves nothing behind.
import 'reflect-metadata';
import { chmod, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Worker } from 'node:worker_threads';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { loadConfig } from '#service/config/load-config.js';
import { startEmbeddedPostgres } from '#service/database/embedded/embedded-postgres.js';
import { startService } from '#service/app/start-service.js';
import { SyncRun } from '#service/sync/sync-run.js';
import { createLogger } from '#service/telemetry/logger.js';
import type { WrittenCatalogue } from './data/catalogue-file.js';
import { watchLoop } from './harness/blocked-loop.js';
import { atMost, type Figure, figure, reportedOnly } from './harness/figure.js';
import { median } from './harness/rounds.js';

const SERVERS = 10_000;
const ROUNDS = 5;
const QUICK = { servers: 2_000, rounds: 3 };
const LONGEST_BLOCK_MS = 50;

const SYNCS = {
  empty: { measure: 'into an empty source', judged: atMost(2.5) },
  unchanged: { measure: 'an unchanged file', judged: reportedOnly },
  reformatted: { measure: 'other bytes, the same documents', judged: reportedOnly },
  changed: { measure: 'one in ten changed, half of these under a new version', judged: reportedOnly },
} as const;
type Kind = keyof typeof SYNCS;
const KINDS = Object.keys(SYNCS) as Kind[];

/** Duration of a run, from its start to its commit. */
export interface Run {
  readonly ms: number;
  readonly longestBlockMs: number;
}

export async function measureSync(quick: boolean): Promise<Figure[]> {
  const { servers, rounds } = quick ? QUICK : { servers: SERVERS, rounds: ROUNDS };
  const folder = await mkdtemp(join(tmpdir(), 'registry-bench-'));
  await chmod(folder, 0o755);
  const postgres = await startEmbeddedPostgres(join(folder, 'postgres'));
  const file = join(folder, 'catalogue.json');
  const write = async (edition: number, reformatted = false) => {
    await writeCatalogue({ file: `${file}.new`, count: servers, edition, reformatted });
    // The service's file watch sees a rename, never a partial file.
    await rename(`${file}.new`, file);
  };
  await write(0);
  const { host, port, user, database } = postgres.connection;
  const configuration = join(folder, 'registry.yaml');
  await writeFile(
    configuration,
    JSON.stringify({
      auth: { mode: 'anonymous' },
      database: { host, port, user, database },
      sources: [{ name: 'main', file: { path: file }, syncPolicy: { interval: '24h' } }],
      registries: [{ name: 'main', sources: ['main'] }],
    }),
  );
  const runs = watchRuns();
  const warmUp = runs.next();
  const service = await startSyncing(configuration);
  await warmUp;
  const client = new pg.Client({ host, port, user, database });
  await client.connect();
  const expect = async (wanted: Record<string, number>) => {
    const { rows } = await client.query<{ status: string; counts: Record<string, number> }>(
      `select status, counts from source_sync`,
    );
    const { status, counts } = rows[0] ?? { status: 'absent', counts: {} };
    const isWanted = Object.entries(wanted).every(([key, count]) => counts[key] === count);
    if (status !== 'complete' || !isWanted)
      throw new Error(`Unexpected sync result: ${status} ${JSON.stringify(counts)}`);
  };
  const sync = async (edition: number, reformatted: boolean, wanted: Record<string, number>) => {
    const run = runs.next();
    await write(edition, reformatted);
    const ran = await run;
    await expect(wanted);
    return ran;
  };

  try {
    const copy = await copyOf(client);
    const took: Record<Kind | 'copy' | 'bare' | 'block', number[]> = {
      ...{ copy: [], bare: [], block: [] },
      ...{ empty: [], unchanged: [], reformatted: [], changed: [] },
    };
    for (let round = 1; round <= rounds; round += 1) {
      took.copy.push(await copy.into('indexed'));
      took.bare.push(await copy.into('bare'));
      await empty(client);
      const changed = servers / 20;
      const ran: Record<Kind, Run> = {
        empty: await sync(0, false, { added: servers, changed: 0 }),
        unchanged: await sync(0, false, { added: servers }),
        reformatted: await sync(0, true, { added: 0, changed: 0, unchanged: servers }),
        changed: await sync(round, true, { changed, added: changed, removed: changed }),
      };
      for (const kind of KINDS) took[kind].push(ran[kind].ms);
      took.block.push(Math.max(...KINDS.map((kind) => ran[kind].longestBlockMs)));
    }
    return figuresOf(took, servers, copy.bytes);
  } finally {
    await client.end();
    await service.stop();
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

function figuresOf(
  took: Record<Kind | 'copy' | 'bare' | 'block', number[]>,
  servers: number,
  bytes: number,
): Figure[] {
  const row = `sync of ${servers} servers`;
  const bare = median(took.copy.map((ms, round) => ms / (took.bare[round] ?? NaN)));
  const baseline =
    `COPY of ${(bytes / 1e6).toFixed(1)} MB: ${inMs(took.copy)}, without indexes and constraints ${inMs(took.bare)}, ` +
    `so ${(1 - 1 / bare).toFixed(2)} of it is indexes`;
  const ratios = KINDS.map((kind) => {
    const over = (base: readonly number[]) => took[kind].map((ms, round) => ms / (base[round] ?? NaN));
    const { measure, judged } = SYNCS[kind];
    const note = `${inMs(took[kind])}, ${median(over(took.bare)).toFixed(2)} of a COPY without indexes; ${baseline}`;
    return figure(row, `${measure} / COPY`, over(took.copy), judged, note);
  });
  return [
    ...ratios,
    {
      ...figure(row, 'longest event-loop block in any of these, ms', took.block, atMost(LONGEST_BLOCK_MS)),
      value: Math.max(...took.block),
    },
  ];
}

export async function startSyncing(configuration: string) {
  const addresses = { address: '127.0.0.1:0', internalAddress: '127.0.0.1:0' };
  const { config } = loadConfig(configuration, {}, addresses);
  const { version: node_version, platform } = process;
  const version = { version: '0', commit: '', build_date: '', node_version, platform };
  return startService(config, version, createLogger('error'));
}

// The log has durations only for runs that wrote something, and polling the status would add the polling interval.
export function watchRuns(): { next(): Promise<Run> } {
  const loop = watchLoop();
  let done: (run: Run) => void = () => undefined;
  const { run } = SyncRun.prototype;
  SyncRun.prototype.run = async function (...leased) {
    loop.longestMs();
    const began = performance.now();
    const outcome = await run.apply(this, leased);
    done({ ms: performance.now() - began, longestBlockMs: loop.longestMs() });
    return outcome;
  };
  return { next: () => new Promise((resolve) => (done = resolve)) };
}

/** Prepares COPY of the current rows into identical tables and into tables without indexes and constraints. */
async function copyOf(client: pg.Client) {
  const TABLES = ['entry', 'entry_version'];
  const rows = new Map<string, Buffer[]>();
  for (const table of TABLES) {
    await client.query(`create table indexed_${table} (like ${table} including all)`);
    await client.query(`create table bare_${table} (like ${table})`);
    const chunks: Buffer[] = [];
    for await (const chunk of client.query(copyTo(`copy ${table} to stdout`))) chunks.push(chunk as Buffer);
    rows.set(table, chunks);
  }
  return {
    bytes: [...rows.values()].flat().reduce((sum, { length }) => sum + length, 0),
    into: async (twin: 'indexed' | 'bare'): Promise<number> => {
      await client.query(`truncate ${TABLES.map((table) => `${twin}_${table}`).join()}`);
      const began = performance.now();
      await client.query('begin');
      for (const [table, chunks] of rows)
        await pipeline(Readable.from(chunks), client.query(copyFrom(`copy ${twin}_${table} from stdin`)));
      await client.query('commit');
      return performance.now() - began;
    },
  };
}

export async function empty(client: pg.Client): Promise<void> {
  await client.query(`truncate entry, entry_version cascade`);
  await client.query(`update source_sync set fetch_state = jsonb_set(fetch_state, '{rules}', '""')`);
}

export function writeCatalogue(catalogue: WrittenCatalogue): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./data/catalogue-file.js', import.meta.url), {
      workerData: catalogue,
    });
    worker.once('error', reject);
    worker.once('exit', () => resolve());
  });
}

function inMs(values: readonly number[]): string {
  return `${Math.round(median([...values]))} ms`;
}
