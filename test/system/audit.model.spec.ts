import { setTimeout as sleep } from 'node:timers/promises';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { linesIn } from '../support/audit.js';
import { authSection } from '../support/auth-section.js';
import { Cli } from '../support/cli.js';
import { aDatabase, type TestDatabase } from '../support/database.js';
import { aServer } from '../support/documents.js';
import { callWith, type Reply } from '../support/http.js';
import { anIssuer } from '../support/issuer.js';
import { entryAt } from '../support/publishing.js';
import { Random } from '../support/random.js';
import type { ServiceUnderTest } from '../support/service.js';
import { inSoak } from '../support/soak.js';
import { nothing, replayed, type State } from '../support/audit-replay.js';

const ROUNDS = inSoak(12, 1);
const WORKERS = 6;
/** Responses per round before the process may be killed, and the maximum delay before the kill. */
const ROUND_ANSWERS = inSoak(500, 60);
const LONGEST_MS = 300;
const NAMES = ['io.acme/a', 'io.acme/b', 'io.acme/c', 'io.acme/d'];
const VERSIONS = ['1.0.0', '1.1.0', '2.0.0'];
const CLAIMS = [
  { org: 'acme' },
  { org: 'acme', team: 'platform' },
  { org: 'acme', team: ['data', 'platform'] },
];
const OWN = ['one', 'two', 'three'];

const issuer = anIssuer();
let folder = '';
let configuration = '';
let database: TestDatabase;
let running: Cli | undefined;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'registry-audit-'));
  configuration = join(folder, 'registry.yaml');
  database = await aDatabase();
  await issuer.start();
  // Makes some transactions fail at commit, after all statements have succeeded.
  await database.query(`create function fail_some() returns trigger language plpgsql as $$ begin
    if random() < 0.1 then raise exception 'this transaction was to fail'; end if; return null; end $$`);
  for (const table of ['entry_version', 'entry', 'registry', 'source'])
    await database.query(`create constraint trigger fail_some after insert or update or delete on ${table}
      deferrable initially deferred for each row execute function fail_some()`);
  await writeFile(
    configuration,
    JSON.stringify({
      auth: authSection({ mode: 'full' }, { issuer } as ServiceUnderTest),
      database: database.connection,
      limits: { changesPerMinute: 1_000_000 },
    }),
  );
});
afterAll(async () => {
  running?.child.kill('SIGKILL');
  await issuer.stop();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

const tokens = new Map<string, string>();
function bearer(claims: Record<string, unknown>): string {
  const key = JSON.stringify(claims);
  const token = tokens.get(key) ?? issuer.sign(claims);
  tokens.set(key, token);
  return `Bearer ${token}`;
}
const token = () => bearer({ sub: 'sigrid', role: 'super-admin', org: 'acme' });
const stranger = () => bearer({ sub: 'carl', role: ['admin', 'writer'], org: 'contoso' });

interface AnyRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly authorization: string;
}

/** A random request: most change something, some are refused, some fail. */
function anyRequest(random: Random): AnyRequest {
  const name = random.pick(NAMES);
  const version = random.pick(VERSIONS);
  const claims = random.pick(CLAIMS);
  const own = random.pick(OWN);
  const authorization = random.between(0, 7) === 0 ? stranger() : token();
  const ask = (method: string, path: string, body?: object) => ({
    method,
    path,
    ...(body ? { body } : {}),
    authorization,
  });
  const status = random.pick(['active', 'deprecated', 'deleted']);
  switch (random.between(0, 8)) {
    case 0:
      return ask('DELETE', entryAt('server', name, `/versions/${version}`));
    case 1:
      return ask('PUT', entryAt('server', name, '/claims'), { claims });
    case 2:
      return ask('PATCH', entryAt('server', name, '/status'), { status });
    case 3:
      return ask('PATCH', entryAt('server', name, `/versions/${version}/status`), { status });
    case 4:
      return ask('PUT', `/v1/registries/${own}`, { sources: ['managed'], claims });
    case 5:
      return ask('DELETE', `/v1/registries/${own}`);
    case 6:
      return ask('PUT', `/v1/sources/${own}`, {
        file: { url: `http://127.0.0.1:9/${random.between(0, 2)}.json` },
        syncPolicy: { interval: '1h' },
        claims,
      });
    case 7:
      return ask('DELETE', `/v1/sources/${own}`);
    default:
      return ask('POST', '/v1/entries', { server: aServer(name, version), claims });
  }
}

async function serving(): Promise<{ cli: Cli; origin: string }> {
  const cli = Cli.serve(configuration);
  running = cli;
  return { cli, origin: await cli.origin() };
}

/** The state that the events describe, as the API shows it. */
async function stateAt(origin: string): Promise<State> {
  const get = async (path: string): Promise<Reply> =>
    callWith(origin + path, 'GET', { headers: { Authorization: token() } });
  const state = nothing();
  const { sources } = (await get('/v1/sources')).json as { sources: Record<string, unknown>[] };
  for (const source of sources) {
    const { syncPolicy, claims } = source;
    const [name, kind] = [String(source['name']), String(source['kind'])];
    state.sources.set(name, { kind, [kind]: source[kind], ...(syncPolicy ? { syncPolicy } : {}), claims });
  }
  const { registries } = (await get('/v1/registries')).json as { registries: Record<string, unknown>[] };
  for (const { name, sources: held, claims } of registries)
    state.registries.set(String(name), { sources: held, claims });
  for (const name of NAMES) {
    const reply = await get(entryAt('server', name));
    if (reply.status === 404) continue;
    const { claims, versions } = reply.json as {
      claims: object;
      versions: { version: string; status: string }[];
    };
    state.entries.set(name, {
      claims,
      versions: new Map(versions.map(({ version, status }) => [version, status])),
    });
  }
  return state;
}

describe('the audit trail, replayed', () => {
  it('reproduces the state after random changes, refusals, rollbacks and killed processes', async () => {
    const seed = Number(process.env['MODEL_SEED'] ?? inSoak(Date.now(), 7));
    const random = new Random(seed);
    const answered = new Map<string, number>();
    const first = await serving();
    const managed = { headers: { Authorization: token() }, body: { managed: {} } };
    for (let made = false; !made;)
      made = [200, 201].includes(
        (await callWith(`${first.origin}/v1/sources/managed`, 'PUT', managed)).status,
      );
    let { cli, origin } = first;
    /** @returns the status, or undefined when the process is gone. */
    const send = async ({ method, path, body, authorization }: AnyRequest): Promise<number | undefined> => {
      const sent = { headers: { Authorization: authorization }, ...(body ? { body } : {}) };
      const reply = await callWith(origin + path, method, sent).catch(() => undefined);
      if (reply) answered.set(String(reply.headers['x-request-id']), reply.status);
      return reply?.status;
    };
    const work = async (): Promise<void> => {
      while ((await send(anyRequest(random))) !== undefined);
    };
    // Forces a conflict, which so few random requests might not produce.
    const published = {
      server: aServer(random.pick(NAMES), random.pick(VERSIONS)),
      claims: random.pick(CLAIMS),
    };
    const publication = { method: 'POST', path: '/v1/entries', body: published, authorization: token() };
    while ((await send(publication)) !== 409);
    for (let round = 1; round <= ROUNDS; round += 1) {
      const before = answered.size;
      const workers = Array.from({ length: WORKERS }, work);
      while (answered.size < before + ROUND_ANSWERS) await sleep(5);
      await sleep(random.between(0, LONGEST_MS));
      cli.child.kill('SIGKILL');
      await cli.finished;
      await Promise.all(workers);
      ({ cli, origin } = await serving());
    }
    const lines = { headers: { Authorization: token(), Accept: 'application/x-ndjson' } };
    const events = linesIn(await callWith(`${origin}/v1/audit`, 'GET', lines)).reverse();
    expect(replayed(events), `seed ${seed}`).toEqual(await stateAt(origin));

    // Every acknowledged change has an event; no failed one does.
    const changes = events.filter(({ outcome }) => outcome === 'allowed');
    const recorded = new Set(changes.map(({ requestId }) => requestId));
    const failed = [...answered].filter(([id, status]) => status >= 400 && recorded.has(id));
    expect(failed, `seed ${seed}`).toEqual([]);
    const created = [...answered].filter(([, status]) => status === 201).map(([id]) => id);
    expect(
      created.filter((id) => !recorded.has(id)),
      `seed ${seed}`,
    ).toEqual([]);
    const statuses = [...new Set(answered.values())];
    expect(statuses, `seed ${seed}`).toEqual(expect.arrayContaining([201, 404, 409, 500]));
    expect(new Set(events.map(({ outcome }) => outcome))).toEqual(new Set(['allowed', 'refused']));
    cli.child.kill('SIGTERM');
    await cli.finished;
  });
});
