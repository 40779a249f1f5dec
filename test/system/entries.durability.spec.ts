import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.js';
import { aDatabase, type TestDatabase } from '../support/database.js';
import { aServer, type Document } from '../support/documents.js';
import { call, callWith } from '../support/http.js';
import { inSoak } from '../support/soak.js';

const ROUNDS = inSoak(20, 1);
/** Concurrent publishers, each publishing version after version. */
const PUBLISHERS = 8;
/** Two, so that half of the publications are first versions. */
const VERSIONS_OF_A_NAME = 2;
const LONGEST_MS = inSoak(1_200, 300);

interface Stored {
  name: string;
  version: string | null;
  document: string | null;
  latest: number;
  newest: boolean;
  isLatest: boolean | null;
}

let folder = '';
let config = '';
let database: TestDatabase;
let running: Cli | undefined;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'registry-durability-'));
  config = join(folder, 'registry.yaml');
  database = await aDatabase();
  const declared = {
    auth: { mode: 'anonymous' },
    sources: [{ name: 'tools', managed: {} }],
    registries: [{ name: 'main', sources: ['tools'] }],
    database: database.connection,
    limits: { changesPerMinute: 1_000_000 },
  };
  await writeFile(config, JSON.stringify(declared));
});
afterAll(async () => {
  running?.child.kill('SIGKILL');
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

async function serving(): Promise<{ cli: Cli; origin: string }> {
  const cli = Cli.serve(config);
  running = cli;
  return { cli, origin: await cli.origin() };
}

describe('kill -9 of a server during publishing', () => {
  it('loses no version that got a 201, and stores no partial entry', async () => {
    const acknowledged = new Map<string, Document>();
    const sent = new Map<string, Document>();

    /** Publishes until the server is killed. */
    const publishTo = async (origin: string, round: number, publisher: number): Promise<void> => {
      for (let count = 0; ; count += 1) {
        const name = `io.acme/r${round}-p${publisher}-n${Math.floor(count / VERSIONS_OF_A_NAME)}`;
        const server = aServer(name, `1.${count}.0`, { filler: 'x'.repeat(2_000) });
        const key = `${name}@1.${count}.0`;
        sent.set(key, server);
        const reply = await callWith(`${origin}/v1/entries`, 'POST', { body: { server } }).catch(
          () => undefined,
        );
        if (!reply) return;
        expect(reply.status).toBe(201);
        acknowledged.set(key, server);
      }
    };

    for (let round = 1; round <= ROUNDS; round += 1) {
      const { cli, origin } = await serving();
      const before = acknowledged.size;
      const publishers = Array.from({ length: PUBLISHERS }, (_, publisher) =>
        publishTo(origin, round, publisher),
      );
      // Wait for the first publication, so that the kill hits the loop even on a slow machine.
      while (acknowledged.size === before) await new Promise((done) => setTimeout(done, 1));
      await new Promise((done) => setTimeout(done, Math.random() * LONGEST_MS));
      cli.child.kill('SIGKILL');
      await cli.finished;
      await Promise.all(publishers);
      expect(acknowledged.size).toBeGreaterThan(before);
    }
    expect(sent.size).toBeGreaterThan(acknowledged.size);

    const { cli, origin } = await serving();
    const rows = await database.query<Stored>(
      `select e.name, v.version, v.document,
         count(*) filter (where v.is_latest) over (partition by e.id)::int as latest,
         row_number() over (partition by e.id order by v.version_key desc) = 1 as newest, v.is_latest as "isLatest"
       from entry e left join entry_version v on v.entry_id = e.id`,
    );
    // Entries without a version, without a latest version, or with the wrong latest version.
    const halves = rows.filter(
      ({ version, latest, newest, isLatest }) => version === null || latest !== 1 || newest !== isLatest,
    );
    expect(halves.map(({ name, version }) => `${name}@${version}`)).toEqual([]);
    const stored = new Map(rows.map(({ name, version, document }) => [`${name}@${version}`, document]));
    expect([...acknowledged.keys()].filter((key) => !stored.has(key))).toEqual([]);
    // Unacknowledged publications are stored completely or not at all.
    for (const [key, document] of stored) expect(JSON.parse(document ?? '')).toEqual(sent.get(key));
    const last = [...acknowledged].slice(-50);
    for (const [, server] of last) {
      const path = `${encodeURIComponent(String(server['name']))}/versions/${String(server['version'])}`;
      const consumer = await call(`${origin}/registry/main/v0.1/servers/${path}`);
      expect(consumer.json).toMatchObject({ server });
      expect((await call(`${origin}/v1/entries/server/${path}`)).json).toMatchObject({ server });
    }
    console.log(
      `${ROUNDS} kills: ${acknowledged.size} acknowledged, ${sent.size - acknowledged.size} in flight, ` +
        `${stored.size - acknowledged.size} of them stored`,
    );
    cli.child.kill('SIGTERM');
    expect((await cli.finished).code).toBe(0);
  });
});
