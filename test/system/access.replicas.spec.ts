import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ACME_DATA, ACME_PLATFORM, CONTOSO_READER, SUPER_ADMIN } from '../support/callers.js';
import { aCatalogue, aServer } from '../support/documents.js';
import type { Reply } from '../support/http.js';
import { anIssuer } from '../support/issuer.js';
import { versionsIn } from '../support/matchers.js';
import type { ServedProcess } from '../support/process.js';
import { inSoak } from '../support/soak.js';
import { type Replicas, startReplicas } from '../support/two-replicas.js';
import { waitingStatements } from '../support/waiting-statements.js';
import { within } from '../support/within.js';

const LIST = '/registry/main/v0.1/servers';
/** Long enough for a busy machine: a replica reconnects within a second. */
const PATIENCE_MS = 20_000;
/** Enough for each replica to write both claim sets, and to serve reads after both. */
const ROUNDS = inSoak(12, 6);

interface Expectation {
  readonly caller: Record<string, unknown>;
  readonly path: string;
  readonly shows: string;
}

describe('two replicas on one database', () => {
  const issuer = anIssuer().runs();
  let replicas: Replicas;

  beforeAll(async () => {
    replicas = await startReplicas(issuer, { superAdmin: [{ role: 'super-admin' }] });
    await writeFile(catalogue(), JSON.stringify(aCatalogue([aServer('io.acme/deploy')])));
    const [first] = replicas.both;
    await putSource(first, { org: 'acme' });
    await putRegistry(first, {});
    const synced = { caller: ACME_DATA, path: LIST, shows: 'io.acme/deploy@1.0.0' };
    await within(PATIENCE_MS, async () => expect(await outcome(first, synced)).toBe(synced.shows));
  });
  afterAll(() => replicas.stop());

  const catalogue = () => join(replicas.folder, 'tools.json');
  const putSource = (replica: ServedProcess, claims: object) =>
    acknowledged(() =>
      replica.as(SUPER_ADMIN).put('/v1/sources/tools', {
        file: { path: catalogue() },
        syncPolicy: { interval: '1h' },
        claims,
      }),
    );
  const putRegistry = (replica: ServedProcess, claims: object) =>
    acknowledged(() => replica.as(SUPER_ADMIN).put('/v1/registries/main', { sources: ['tools'], claims }));

  const writerAndReader = (round: number): [ServedProcess, ServedProcess] => {
    const [one, other] = replicas.both;
    return round % 4 < 2 ? [one, other] : [other, one];
  };

  // The team that sees the tool alternates in each round.
  const teams = (round: number): Expectation[] => {
    const [in_, out] = round % 2 === 0 ? [ACME_PLATFORM, ACME_DATA] : [ACME_DATA, ACME_PLATFORM];
    return [
      { caller: in_, path: LIST, shows: 'io.acme/deploy@1.0.0' },
      { caller: out, path: LIST, shows: '' },
      { caller: out, path: `${LIST}/io.acme%2Fdeploy/versions/latest`, shows: 'entry_not_found' },
    ];
  };
  const labelFor = (round: number) => ({ org: 'acme', team: round % 2 === 0 ? 'platform' : 'data' });
  const gates = (round: number): Expectation[] =>
    round % 2 === 0
      ? [{ caller: CONTOSO_READER, path: LIST, shows: '' }]
      : [{ caller: CONTOSO_READER, path: LIST, shows: 'registry_forbidden' }];
  const gateFor = (round: number) => (round % 2 === 0 ? {} : { org: 'acme' });

  it.each([
    ['a source', putSource, labelFor, teams],
    ['a registry', putRegistry, gateFor, gates],
  ] as const)('apply new claims of %s from the next request', async (_what, put, claims, expected) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const [writer, reader] = writerAndReader(round);
      // Fill the reader's caches with the previous round.
      if (round > 0)
        for (const one of expected(round - 1)) expect(await outcome(reader, one)).toBe(one.shows);
      await put(writer, claims(round));
      for (const one of expected(round))
        expect({ round, outcome: await outcome(reader, one) }).toEqual({ round, outcome: one.shows });
    }
  });

  it.each([
    ['a source', putSource, labelFor, teams],
    ['a registry', putRegistry, gateFor, gates],
  ] as const)(
    'apply new claims of %s in the first response after losing all database connections',
    async (_what, put, claims, expected) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const [writer, reader] = writerAndReader(round);
        if (round > 0) for (const one of expected(round - 1)) await answersOnly(reader, one);
        await cutConnections();
        await put(writer, claims(round));
        for (const one of expected(round)) await answersOnly(reader, one);
      }
    },
  );

  it('repeat the read of a list when the other replica changes the source’s claims in the meantime', async () => {
    const rounds = [0, 1, 2, 3].map(String);
    for (const round of rounds) {
      const [writer, reader] = writerAndReader(Number(round));
      const asked = { caller: { ...ACME_DATA, round: rounds }, path: `${LIST}?limit=${1 + Number(round)}` };
      let shown;
      // A read waits at most 4 s for a lock.
      do
        shown = await whileDocumentsAreLocked(
          () => outcome(reader, asked),
          // Still visible to the reader, but a new claim set.
          () => putSource(writer, { org: 'acme', round }),
        );
      while (shown === 'database_timeout');
      expect({ round, shown }).toEqual({ round, shown: 'io.acme/deploy@1.0.0' });
    }
  });

  /** Makes the change after the reader has resolved its view and before it reads the documents. */
  async function whileDocumentsAreLocked<T>(read: () => Promise<T>, change: () => Promise<void>): Promise<T> {
    await replicas.database.query('begin');
    await replicas.database.query('lock table entry_version in access exclusive mode');
    const answer = read();
    try {
      await within(20_000, async () => expect(await waitingStatements(replicas.database)).toBe(1));
      await change();
    } finally {
      await replicas.database.query('rollback');
    }
    return answer;
  }

  async function cutConnections(): Promise<void> {
    const cut = await replicas.database.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()`,
    );
    expect(cut.length).toBeGreaterThan(0);
  }
});

// A replica that has just lost its connections may return 503 first; only the acknowledged write counts.
async function acknowledged(put: () => Promise<Reply>): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const reply = await put();
    if (reply.status === 503 && Date.now() < deadline) continue;
    expect(reply.text).toMatch(/"claims":/);
    expect([200, 201]).toContain(reply.status);
    return;
  }
}

/** Waits for the expected response; until then only `database_unavailable` is allowed. */
async function answersOnly(replica: ServedProcess, expected: Expectation): Promise<void> {
  let shown = '';
  await within(PATIENCE_MS, async () => {
    shown = await outcome(replica, expected);
    expect(shown).not.toBe('database_unavailable');
  });
  expect(shown).toBe(expected.shows);
}

/** Returns the rows of a list, or the error code. */
async function outcome(
  replica: ServedProcess,
  { caller, path }: Omit<Expectation, 'shows'>,
): Promise<string> {
  const reply = await replica.as(caller).get(path);
  return reply.status === 200 ? versionsIn(reply).join() : (reply.json as { code: string }).code;
}
