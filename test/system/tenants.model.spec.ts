import { randomInt } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { Cli } from '../support/cli.js';
import { aDatabase, type TestDatabase } from '../support/database.js';
import { aCatalogue, aServer, aSkill, type Document } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { callWith, type Reply } from '../support/http.js';
import { anIssuer } from '../support/issuer.js';
import { toolCall } from '../support/mcp.js';
import {
  aTenantRequest,
  HELD_VALUES,
  TENANT_ROLES,
  type TenantRequest,
  type TenantRole,
} from '../support/model/tenant-requests.js';
import { entryAt, timeless } from '../support/publishing.js';
import { Random } from '../support/random.js';
import { inSoak } from '../support/soak.js';
import { within } from '../support/within.js';

const REQUESTS = Number(process.env['TENANT_REQUESTS'] ?? inSoak(20_000, 120));
const AT_ONCE = 16;
const ROUND_MS = 3_000;
const MIB = 1_024 * 1_024;
/** The settings of the image and the manifests. */
const SHIPPED = { NODE_OPTIONS: '--max-old-space-size=256', MALLOC_MMAP_THRESHOLD_: '131072' };
/** Less than the memory limit in the manifests. */
const PEAK_MIB = 400;
/** A failure prints its seed: MODEL_SEED=… npx vitest run tenants.model sends the same requests. */
const seed = Number(process.env['MODEL_SEED'] ?? inSoak(randomInt(2 ** 31), 7));
/** A text in all of blue's resources, and in no request from red. */
const SECRET = 'indigo';

interface Question {
  readonly method?: string;
  readonly path: string;
  readonly body?: unknown;
  /** Responses whose dates and ETag come from the request itself or from blue's own changes. */
  readonly isChanged?: boolean;
  /** A list that is read to its end, because its pages may end early when their time is up. */
  readonly isPaged?: boolean;
  /** Responses that a limit shared by all tenants may cause instead (`docs/security.md`). */
  readonly orElse?: readonly string[];
}

const get = (...paths: string[]): Question[] => paths.map((path) => ({ path }));
const post = (path: string, body: unknown): Question => ({ method: 'POST', path, body });
const LISTS = ['blue', 'shared'].map((registry) => `/registry/${registry}/v0.1`);
const CLAIMS = { org: 'blue', team: SECRET };
/** The reader lacks them, so that nothing the writer changes shows to others. */
const OF_WRITER = { ...CLAIMS, job: 'writer' };
const aBlueServer = (name: string, version = '1.0.0') =>
  aServer(name, version, {
    title: `${SECRET} ${name}`,
    packages: [{ registryType: 'npm', identifier: name, version, transport: { type: 'stdio' } }],
  });

/** All requests of blue's callers; each caller sends them in this order, concurrently with the others. */
const QUESTIONS: Record<TenantRole, (until: string) => readonly Question[]> = {
  reader: () => [
    ...LISTS.flatMap((below) => [
      ...get(
        `${below}/servers`,
        `${below}/servers?limit=2`,
        `${below}/servers?search=tool`,
        `${below}/servers?search=red`,
        `${below}/servers?updated_since=2020-01-01T00:00:00Z`,
        `${below}/servers/io.blue%2Ftool-1/versions`,
        `${below}/servers/io.blue%2Ftool-1/versions/latest`,
        `${below}/servers/io.red%2Fa/versions/latest`,
        `${below}/x/dev.toolhive/skills`,
        `${below}/x/dev.toolhive/skills/io.blue/review`,
        `${below}/x/search?q=io`,
        `${below}/x/client-config?client=vscode`,
        `${below}/x/client-config?client=cursor&form=servers`,
      ),
      post(below.replace('v0.1', 'mcp'), toolCall('search_servers', { query: 'io' })),
      post(below.replace('v0.1', 'mcp'), toolCall('how_to_connect', { name: 'io.blue/tool-1' })),
    ]),
    ...get('/registry', '/registry/red/v0.1/servers', '/registry/nowhere/v0.1/servers', '/v1/me?claims=true'),
    ...get('/v1/sources'),
    post('/v1/access/explain', { registry: 'shared', entry: { type: 'server', name: 'io.blue/tool-1' } }),
    post('/v1/access/explain', { registry: 'shared', entry: { type: 'server', name: 'io.red/a' } }),
  ],
  writer: () => [
    ...get(
      '/v1/entries',
      entryAt('server', 'io.blue/tool-1'),
      entryAt('server', 'io.blue/tool-1', '/access'),
    ),
    ...get(entryAt('server', 'io.red/a'), entryAt('server', 'io.red/a', '/claims')),
    {
      ...post('/v1/entries/validate', { server: aBlueServer('io.blue/new'), claims: CLAIMS }),
      isChanged: true,
    },
    post('/v1/entries?dry_run=true', { server: aBlueServer('io.blue/tool-1'), claims: CLAIMS }),
    post('/v1/entries', { server: aBlueServer('io.red/a'), claims: CLAIMS }),
    {
      ...post('/v1/entries', { server: aBlueServer('io.blue/changed', '2.0.0'), claims: OF_WRITER }),
      isChanged: true,
    },
    {
      method: 'PATCH',
      path: entryAt('server', 'io.blue/changed', '/versions/2.0.0/status'),
      body: { status: 'deprecated' },
      isChanged: true,
    },
    { method: 'DELETE', path: entryAt('server', 'io.blue/changed', '/versions/2.0.0') },
  ],
  sources: (until) => [
    ...get('/v1/sources', '/v1/sources?limit=1', '/v1/sources/blue-file', '/v1/sources/red-file'),
    ...get('/v1/sources/blue-file/entries', '/v1/sources/managed', '/v1/sources/managed/entries'),
    ...get('/v1/sources/red-source-1'),
    { path: `/v1/audit?until=${until}`, isPaged: true },
    {
      method: 'PUT',
      path: '/v1/sources/blue-made',
      body: { file: { url: 'http://127.0.0.1:9/x' }, syncPolicy: { interval: '30d' }, claims: CLAIMS },
      isChanged: true,
      orElse: ['too_many_sources'],
    },
    { method: 'DELETE', path: '/v1/sources/blue-made', orElse: ['source_not_found'] },
  ],
  registries: () => [
    ...get('/v1/registries/blue', '/v1/registries/shared', '/v1/registries/red', '/v1/registries/red-1'),
    ...get('/v1/registries/blue/entries', '/v1/registries/shared/entries', '/v1/registries/blue/access'),
    ...get('/v1/registries/blue/access?type=server&entry=io.blue/file-1'),
    { path: '/v1/registries', isChanged: true },
    { path: '/v1/audit?action=registry.create', isPaged: true },
    post('/v1/access/explain', { registry: 'blue', as: { claims: { org: 'blue', area: 'shared' } } }),
    post('/v1/access/preview', { registry: 'blue', as: { claims: { ...CLAIMS, area: 'shared' } } }),
    {
      method: 'PUT',
      path: '/v1/registries/blue-kept',
      body: { sources: ['blue-file'], claims: CLAIMS },
      isChanged: true,
    },
  ],
};

describe('a tenant', () => {
  const folder = aFolder();
  const issuer = anIssuer();
  const tokens: Record<string, string> = {};
  let database: TestDatabase;
  let served: Cli;
  let origin = '';

  beforeAll(async () => {
    for (const org of ['red', 'blue']) mkdirSync(folder.file(org));
    folder.write('blue/blue.json', catalogue([1, 2, 3].map((index) => aBlueServer(`io.blue/file-${index}`))));
    folder.write(
      'red/catalogue.json',
      catalogue([1, 2, 3].map((index) => aServer(`io.red/catalogue-${index}`))),
    );
    folder.write('red/small.json', catalogue([aServer('io.red/small')]));
    folder.write('red/broken.json', '{"data":{"servers":[\u0000'.padEnd(MIB, '['));
    const filled = { _meta: { 'com.red/x': 'x'.repeat(MIB) } };
    folder.write(
      'red/limits.json',
      catalogue([
        aServer('io.red/too-long', '1.0.0', filled),
        ...Array.from({ length: 40 }, (_, index) => aServer('io.red/many', `${index}.0.0`)),
      ]),
    );
    [database] = await Promise.all([aDatabase(), issuer.start()]);
    served = Cli.serve(folder.write('registry.yaml', stringify(configuration())), SHIPPED);
    origin = await served.origin();
    for (const org of ['red', 'blue'])
      for (const role of TENANT_ROLES)
        tokens[`${org} ${role}`] = issuer.sign({
          sub: `${org}-${role}`,
          org,
          // Managers see every entry of their resources, so nobody manages shared ones.
          ...(role === 'reader' || role === 'writer' ? { area: 'shared' } : {}),
          role,
          ...(org === 'red' ? { n: HELD_VALUES } : { team: SECRET }),
          ...(role === 'writer' ? { job: 'writer' } : {}),
        });
    await publishBlue();
  });
  afterAll(async () => {
    served.child.kill('SIGTERM');
    await served.finished;
    await Promise.all([database.drop(), issuer.stop()]);
  });

  function catalogue(servers: Document[]): string {
    return JSON.stringify(aCatalogue(servers));
  }

  /** Two tenants that share the managed source and a registry. Lowers the limits that would take long to reach. */
  function configuration(): Document {
    const provider = { name: 'p', issuerUrl: issuer.iss, audience: issuer.audience, allowPrivateIP: true };
    const syncPolicy = { interval: '30d' };
    const orgs = ['red', 'blue'];
    return {
      auth: {
        mode: 'oauth',
        oauth: { resourceUrl: 'https://registry.example.com', providers: [provider] },
        authz: {
          roles: {
            superAdmin: [{ role: 'super-admin' }],
            manageSources: [{ role: 'sources' }],
            manageRegistries: [{ role: 'registries' }],
            manageEntries: [{ role: 'writer' }],
          },
          policy: { unlabeled: 'deny' },
        },
      },
      database: database.connection,
      sources: [
        {
          name: 'managed',
          managed: { names: orgs.map((org) => ({ include: [`io.${org}/*`], claims: { org } })) },
          claims: { area: 'shared' },
        },
        {
          name: 'red-file',
          file: { path: folder.file('red/catalogue.json') },
          syncPolicy,
          claims: { org: 'red' },
        },
        { name: 'blue-file', file: { path: folder.file('blue/blue.json') }, syncPolicy, claims: CLAIMS },
      ],
      registries: [
        ...orgs.map((org) => ({
          name: org,
          sources: [`${org}-file`],
          claims: org === 'blue' ? CLAIMS : { org },
        })),
        {
          name: 'shared',
          sources: ['managed', 'red-file', 'blue-file'],
          claims: { area: 'shared' },
          publishClaims: { org: 'red' },
        },
      ],
      adminFileRoots: orgs.map((org) => ({ path: folder.file(org), claims: { org } })),
      limits: {
        versionsPerEntry: 12,
        bytesPerEntry: '3MiB',
        apiSources: 20,
        apiRegistries: 20,
        changesPerMinute: 100,
      },
    };
  }

  async function publishBlue(): Promise<void> {
    const publications = [1, 2, 3].flatMap((index) =>
      ['1.0.0', '1.1.0'].map((version) => ({
        server: aBlueServer(`io.blue/tool-${index}`, version),
        claims: CLAIMS,
      })),
    );
    for (const body of [
      ...publications,
      { skill: aSkill('io.blue/review', '1.0.0', { description: SECRET }), claims: CLAIMS },
      { server: aBlueServer('io.blue/changed'), claims: OF_WRITER },
    ])
      expect((await send('blue', { by: 'writer', method: 'POST', path: '/v1/entries', body })).status).toBe(
        201,
      );
    const kept = { sources: ['blue-file'], claims: CLAIMS };
    const made = { by: 'registries', method: 'PUT', path: '/v1/registries/blue-kept', body: kept } as const;
    expect((await send('blue', made)).status).toBe(201);
    await within(30_000, async () => {
      const { json } = await send('blue', { by: 'sources', method: 'GET', path: '/v1/sources/blue-file' });
      expect((json as { sync: { status: string } }).sync.status).toBe('complete');
    });
  }

  function send(org: string, { by, method, path, body, headers }: TenantRequest): Promise<Reply> {
    const authorization = { Authorization: `Bearer ${tokens[`${org} ${by}`]}` };
    return callWith(origin + path, method, { headers: { ...authorization, ...headers }, body });
  }

  /** The response to blue's caller, without the parts that differ between equal responses. */
  async function answered(by: TenantRole, question: Question): Promise<string> {
    const { method = 'GET', path, body, isChanged = false, isPaged = false, orElse = [] } = question;
    const reply = await send('blue', { by, method, path, body });
    if (isPaged && reply.status === 200) return inspect(await allEvents(by, path, reply), EVERYTHING);
    const { code } = (reply.json ?? {}) as { code?: string };
    if (code !== undefined && orElse.includes(code)) return 'allowed';
    const hidden = isChanged ? [...OWN_HEADERS, 'etag'] : OWN_HEADERS;
    const headers = Object.entries(reply.headers).filter(([name]) => !hidden.includes(name));
    const text = isChanged ? timeless(reply) : reply.text.replace(/"requestId":"[^"]+"/, '');
    return inspect({ status: reply.status, text, headers }, EVERYTHING);
  }

  async function allEvents(by: TenantRole, path: string, first: Reply): Promise<unknown[]> {
    const events: unknown[] = [];
    for (let reply = first; ;) {
      expect(reply.status).toBe(200);
      const page = reply.json as { events: unknown[]; metadata: { nextCursor?: string } };
      events.push(...page.events);
      const { nextCursor } = page.metadata;
      if (nextCursor === undefined) return events;
      reply = await send('blue', { by, method: 'GET', path: `${path}&cursor=${nextCursor}` });
    }
  }

  it(`sees no difference during ${REQUESTS} requests from another tenant at every limit`, async () => {
    const until = new Date().toISOString();
    const questions = TENANT_ROLES.flatMap((by) =>
      QUESTIONS[by](until).map((question) => ({
        by,
        question,
        key: `${by} ${question.method ?? 'GET'} ${question.path}`,
      })),
    );
    const times = { alone: [] as number[], beside: [] as number[] };
    const alone = new Map<string, string>();
    /** Sends every request once, each caller's requests in order. */
    const askAll = (into: number[], whenAnswered: (key: string, answer: string) => void) =>
      Promise.all(
        TENANT_ROLES.map(async (role) => {
          for (const { by, question, key } of questions) {
            if (by !== role) continue;
            const began = performance.now();
            const answer = await answered(by, question);
            into.push(performance.now() - began);
            whenAnswered(key + JSON.stringify(question.body ?? ''), answer);
          }
        }),
      );
    const differences: object[] = [];
    const compare = (key: string, answer: string) => {
      const expected = alone.get(key);
      if (answer !== expected && answer !== 'allowed' && expected !== 'allowed')
        differences.push({ key: key.slice(0, 300), ...differing(expected ?? '', answer) });
    };
    await askAll([], () => undefined);
    await askAll(times.alone, (key, answer) => alone.set(key, answer));
    await askAll(times.alone, compare);
    expect(differences, 'alone').toEqual([]);

    const random = new Random(seed);
    const statuses: Record<string, number> = {};
    const faults: object[] = [];
    let sent = 0;
    let rounds = 0;
    const began = performance.now();
    const red = async () => {
      while (sent < REQUESTS && faults.length + differences.length < 5) {
        sent += 1;
        const request = aTenantRequest(random, folder.path);
        const reply = await send('red', request).catch((error: unknown) => error as NodeJS.ErrnoException);
        const outcome = outcomeOf(reply);
        statuses[outcome] = (statuses[outcome] ?? 0) + 1;
        const text = 'text' in reply ? reply.text : '';
        if (!isExpected(reply) || text.includes(SECRET))
          faults.push({ request: inspect(request).slice(0, 2_000), outcome, text: text.slice(0, 2_000) });
      }
    };
    const working = Promise.all(Array.from({ length: AT_ONCE }, red)).then(() => (isOver = true));
    let isOver = false;
    while (!isOver && differences.length === 0) {
      // Blue's writer stays below limits.changesPerMinute.
      await Promise.all([askAll(times.beside, compare), sleep(ROUND_MS)]);
      rounds += 1;
    }
    await working;
    const seconds = Math.round((performance.now() - began) / 100) / 10;
    await askAll([], compare);

    const peak = peakMiB(served.child.pid);
    const summary = {
      sent,
      seconds,
      rounds,
      peak,
      alone: spread(times.alone),
      beside: spread(times.beside),
      statuses,
    };
    console.info(`MODEL_SEED=${seed}: ${inspect(summary, EVERYTHING)}`);
    const problems = { faults, differences, errors: errorsIn(served.output) };
    expect(problems, `MODEL_SEED=${seed}`).toEqual({ faults: [], differences: [], errors: [] });
    expect(served.child.exitCode).toBeNull();
    // Depends on how soon garbage is collected, which a busy machine delays.
    if (inSoak(true, false)) expect(peak).toBeLessThan(PEAK_MIB);
    expect(sent).toBe(REQUESTS);
    for (const status of ['200', '201', '400', '403', '404'])
      expect(Object.keys(statuses).join()).toContain(status);
  });
});

/** Headers that differ between equal responses. */
const OWN_HEADERS = ['date', 'x-request-id', 'content-length'];
const EVERYTHING = { depth: null, breakLength: 160, maxStringLength: null, maxArrayLength: null } as const;

/** Values from shortly before the difference. */
function differing(expected: string, answer: string): object {
  let from = 0;
  while (expected[from] === answer[from] && from < expected.length) from += 1;
  const [start, end] = [Math.max(0, from - 100), from + 300];
  return {
    status: answer.slice(0, 20),
    expected: expected.slice(start, end),
    answer: answer.slice(start, end),
  };
}

function outcomeOf(reply: Reply | NodeJS.ErrnoException): string {
  if (!('status' in reply)) return `connection ${reply.code}`;
  const { code } = (reply.json ?? {}) as { code?: string };
  return code === undefined ? `${reply.status}` : `${reply.status} ${code}`;
}

/**
 * Expects a response below 500, a documented 501, or a limit that says when to retry. A refused body may end the
 * connection.
 */
function isExpected(reply: Reply | NodeJS.ErrnoException): boolean {
  if (!('status' in reply)) return reply.code === 'ECONNRESET' || reply.code === 'EPIPE';
  if (reply.status === 429 || reply.status === 503) return reply.headers['retry-after'] !== undefined;
  return reply.status < 500 || reply.status === 501;
}

/** Only Linux reports the peak. */
function peakMiB(pid: number | undefined): number {
  const status = process.platform === 'linux' ? readFileSync(`/proc/${pid}/status`, 'utf8') : '';
  return Math.round(Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1_024);
}

function spread(times: number[]): object {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number) => Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? 0);
  return { answers: times.length, p50: at(0.5), p99: at(0.99), most: at(1) };
}

/** Errors in the log, except for refusals of an overloaded server. */
function errorsIn(output: string): string[] {
  return output
    .split('\n')
    .filter((line) => line.includes('"level":"error"') && !line.includes('"status":503'))
    .slice(0, 5)
    .map((line) => line.slice(0, 2_000));
}
