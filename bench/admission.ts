// Measures syncs of a source with admission rules that admit everything, relative to the same syncs of a source without.
// Both are in the same service; their runs alternate, the first one in turn. Leaves nothing behind.
import 'reflect-metadata';
import { chmod, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '#service/database/embedded/embedded-postgres.js';
import { atMost, type Figure, figure } from './harness/figure.js';
import { median } from './harness/rounds.js';
import { empty, startSyncing, watchRuns, writeCatalogue } from './sync.js';

const SERVERS = 10_000;
const ROUNDS = 5;
const QUICK = { servers: 2_000, rounds: 3 };
const TARGET = 1.1;

/** Every name is compared with each rule. */
const ADMISSION = {
  newNames: 'hold',
  rules: Array.from({ length: 20 }, (_, at) => ({ names: [`com.blocked-${at}/*`], action: 'reject' })),
};
const SOURCES = ['without', 'with'] as const;
const KINDS = {
  empty: 'into an empty source',
  reformatted: 'other bytes, the same documents',
  changed: 'one in ten changed, half of these under a new version',
} as const;
type Kind = keyof typeof KINDS;
/** Milliseconds of each run. */
type Runs = Record<Kind, Record<(typeof SOURCES)[number], number[]>>;

export async function measureAdmission(quick: boolean): Promise<Figure[]> {
  const { servers, rounds } = quick ? QUICK : { servers: SERVERS, rounds: ROUNDS };
  const folder = await mkdtemp(join(tmpdir(), 'registry-bench-'));
  await chmod(folder, 0o755);
  const postgres = await startEmbeddedPostgres(join(folder, 'postgres'));
  const { host, port, user, database } = postgres.connection;
  const client = new pg.Client({ host, port, user, database });
  const fileOf = (source: string) => join(folder, `${source}.json`);
  const write = async (source: string, edition: number, reformatted: boolean) => {
    await writeCatalogue({ file: `${fileOf(source)}.new`, count: servers, edition, reformatted });
    await rename(`${fileOf(source)}.new`, fileOf(source));
  };
  const runs = watchRuns();
  const configuration = join(folder, 'registry.yaml');
  for (const source of SOURCES) await write(source, 0, false);
  await writeFile(
    configuration,
    JSON.stringify({
      auth: { mode: 'anonymous' },
      database: { host, port, user, database },
      sources: SOURCES.map((name) => ({
        ...{ name, file: { path: fileOf(name) }, syncPolicy: { interval: '24h' } },
        ...(name === 'with' ? { admission: ADMISSION } : {}),
      })),
      registries: [{ name: 'main', sources: [...SOURCES] }],
    }),
  );
  const service = await startSyncing(configuration);
  await client.connect();
  const stored = async (source: string) => {
    const { rows } = await client.query<{ done: boolean }>(
      `select y.status = 'complete' and y.lease_owner is null and (y.counts ->> 'held')::int = 0
         and (select count(*) from entry e where e.source_id = s.id) = $2 as done
       from source s join source_sync y on y.source_id = s.id where s.name = $1`,
      [source, servers],
    );
    return rows[0]?.done === true;
  };
  try {
    for (const name of SOURCES)
      while (!(await stored(name))) await new Promise((resolve) => setTimeout(resolve, 100));
    const [took, processor] = [noRuns(), noRuns()];
    for (let round = 1; round <= rounds; round += 1) {
      const order = round % 2 === 0 ? SOURCES : SOURCES.toReversed();
      await empty(client);
      const steps = [
        ['empty', 0, false],
        ['reformatted', 0, true],
        ['changed', round, false],
      ] as const;
      for (const [kind, edition, reformatted] of steps)
        for (const source of order) {
          const run = runs.next();
          await write(source, edition, reformatted);
          const before = process.cpuUsage();
          took[kind][source].push((await run).ms);
          const { user, system } = process.cpuUsage(before);
          processor[kind][source].push((user + system) / 1_000);
          // The summaries are written in the background, and must not slow the next sync.
          for (let waits = 0; !(await stored(source)); waits += 1) {
            if (waits > 300) throw new Error(`The sync of ${source} failed or held versions`);
            await new Promise((resolve) => setTimeout(resolve, 100));
          }
        }
    }
    return (Object.keys(KINDS) as Kind[]).map((kind) => {
      const { with: curated, without } = took[kind];
      const cpu = median(processor[kind].with) / median(processor[kind].without);
      return figure(
        `sync of ${servers} servers with 20 admission rules and newNames: hold`,
        `${KINDS[kind]} / without admission`,
        curated.map((ms, round) => ms / (without[round] ?? NaN)),
        atMost(TARGET),
        `${Math.round(median(curated))} and ${Math.round(median(without))} ms; processor time of the service ${cpu.toFixed(2)}`,
      );
    });
  } finally {
    await client.end();
    await service.stop();
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

function noRuns(): Runs {
  const none = () => ({ without: [], with: [] });
  return { empty: none(), reformatted: none(), changed: none() };
}
