import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { Cli } from '../support/cli.js';
import { aDatabase, type TestDatabase } from '../support/database.js';
import { aCatalogue, aServer } from '../support/documents.js';
import { close, listen, urlOf } from '../support/loopback.js';
import { inSoak } from '../support/soak.js';
import { within } from '../support/within.js';

const SOURCES = inSoak(200, 32);
const ANSWER_MS = 60;
/** Concurrent reads per replica. */
const MAX_CONCURRENT = 4;
/** The longest time for which a dead replica keeps its sources from the other one. */
const LEASE_MS = 15_000;
/** Time to read all sources, even on a busy machine. */
const A_WHILE = 60_000;

describe(`two replicas that share ${SOURCES} sources`, () => {
  let folder: string;
  let database: TestDatabase;
  let configuration: string;
  /** Requests in flight per path, and the maximum seen for one path. */
  const open = new Map<string, number>();
  const most = new Map<string, number>();
  /** Delayed responses, all sent once enough sources have been requested. */
  const heldBack: (() => void)[] = [];
  let holdFrom = SOURCES / 4;
  const upstream = createServer((request, response) => {
    const path = request.url ?? '';
    open.set(path, (open.get(path) ?? 0) + 1);
    most.set(path, Math.max(most.get(path) ?? 0, open.get(path) ?? 0));
    response.on('close', () => open.set(path, (open.get(path) ?? 0) - 1));
    const name = `io.acme/${path.slice(1)}`;
    const answer = () => response.end(JSON.stringify(aCatalogue([aServer(name)], [])));
    setTimeout(() => (most.size >= holdFrom ? heldBack.push(answer) : answer()), ANSWER_MS);
  });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'registry-leases-'));
    database = await aDatabase();
    await listen(upstream);
    const names = Array.from({ length: SOURCES }, (_, index) => `s${index}`);
    configuration = join(folder, 'registry.yaml');
    await writeFile(
      configuration,
      stringify({
        auth: { mode: 'anonymous' },
        sources: names.map((name) => ({
          name,
          file: { url: `${urlOf(upstream)}/${name}` },
          syncPolicy: { interval: '1h' },
        })),
        registries: [{ name: 'main', sources: names }],
        database: database.connection,
      }),
    );
  });
  afterAll(async () => {
    await close(upstream);
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  const serve = () => Cli.serve(configuration);
  const count = async (condition: string) => {
    const [row] = await database.query<{ count: number }>(
      `select count(*)::int as count from source_sync where ${condition}`,
    );
    return row?.count ?? 0;
  };

  it('read every source, never twice concurrently, when one replica gets SIGKILL midway', async () => {
    const first = serve();
    await first.logs('"changes"');
    const second = serve();
    await second.logs('"changes"');
    // The killed replica is reading some sources, because all slots of both are in use.
    await within(A_WHILE, async () =>
      expect(await count('lease_owner is not null')).toBe(2 * MAX_CONCURRENT),
    );
    first.child.kill('SIGKILL');
    await first.finished;
    expect(await count(`lease_until > now() + ${LEASE_MS} * interval '1 millisecond'`)).toBe(0);
    holdFrom = Infinity;
    for (const answer of heldBack.splice(0)) answer();
    await within(A_WHILE, async () => expect(await count(`status = 'complete'`)).toBe(SOURCES));
    expect(most.size).toBe(SOURCES);
    expect([...most].filter(([, at]) => at > 1)).toEqual([]);
    expect(await database.query(`select count(*)::int as n from entry`)).toEqual([{ n: SOURCES }]);
    second.child.kill('SIGTERM');
    expect((await second.finished).code).toBe(0);
    expect(await count('lease_owner is not null')).toBe(0);
  });
});
