import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { aSkillFile, aTarGz, aZip } from '../support/archives.js';
import { Cli } from '../support/cli.js';
import { exported } from '../support/cluster-objects.js';
import { aDatabase, type TestDatabase } from '../support/database.js';
import { aServer, aSkill, type Document } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { call, callWith, type Reply } from '../support/http.js';
import { aGitServer } from '../support/git-server.js';
import { anIssuer } from '../support/issuer.js';
import { aCluster } from '../support/kubernetes-api.js';
import { entryAt } from '../support/publishing.js';
import { aWebhookSecret } from '../support/receiver.js';
import { within } from '../support/within.js';

const MIB = 1_024 * 1_024;
const SECONDS = 20;
const VITALS = resolve(import.meta.dirname, '../support/vitals.mjs');
/** The settings of the image and the manifests, and the report of the event loop. */
const SHIPPED = {
  NODE_OPTIONS: `--max-old-space-size=256 --import ${VITALS}`,
  MALLOC_MMAP_THRESHOLD_: '131072',
};
const PEAK_MIB = 400;
/** reference/errors: `/health` responds within this time. */
const LONGEST_BLOCK_MS = 100;

const RED = { org: 'red' };
const BLUE = { org: 'blue' };
const SUPER = { sub: 'super', role: 'super-admin' };
const ATTACKER = '127.0.0.9';
const NEIGHBOUR = '127.0.0.2';
/** People in the attacking tenant. */
const PERSONS = Array.from({ length: 8 }, (_, index) => `red-${index}`);

const LARGE = 60;
const FILLED = 200;
const HELD = 10_000;
const CLUSTER_OBJECTS = 40;
const TREE_FILES = 100_000;
const PUBLISHER = 'io.modelcontextprotocol.registry/publisher-provided';
const MAIN = '/registry/main';

const folder = aFolder();
const issuer = anIssuer().runs();
const cluster = aCluster().runs();
const git = aGitServer().runs();
const tokens = new Map<string, string>();
let database: TestDatabase;
let served: Cli;
let origin = '';
let internal = '';

beforeAll(async () => {
  database = await aDatabase();
  folder.catalogue('blue', [aServer('io.blue/tool')]);
  served = Cli.serve(folder.write('registry.yaml', stringify(configuration())), {
    ...SHIPPED,
    REGISTRY_KUBECONFIG: cluster.kubeconfig,
  });
  origin = await served.origin();
  internal = /"metrics":"(.*?)\/metrics"/.exec(served.output)?.[1] ?? '';
  await within(20_000, async () =>
    expect((await as({ sub: 'blue', ...BLUE }).get(`${MAIN}/v0.1/servers`)).text).toContain('io.blue/tool'),
  );
  await fill();
});
afterAll(async () => {
  served.child.kill('SIGTERM');
  await served.finished;
  await database.drop();
});

function configuration(): Document {
  const { iss, audience, introspectionUrl } = issuer;
  const provider = { name: 'p', issuerUrl: iss, audience, introspectionUrl, allowPrivateIP: true };
  const review = [{ names: ['io.held/*'], reviewers: { job: 'reviewer' } }];
  return {
    auth: {
      mode: 'oauth',
      oauth: { resourceUrl: 'https://registry.example.com', providers: [provider] },
      authz: {
        roles: {
          superAdmin: [{ role: 'super-admin' }],
          manageSources: [{ role: 'admin' }],
          manageRegistries: [{ role: 'admin' }],
          manageEntries: [{ role: 'writer' }],
        },
      },
    },
    database: database.connection,
    sources: [
      { name: 'published', managed: { review }, claims: { area: 'all' } },
      {
        name: 'blue',
        file: { path: folder.file('blue.json') },
        syncPolicy: { interval: '1d' },
        claims: BLUE,
      },
      { name: 'cluster', kubernetes: { namespaces: ['red'] }, claims: RED },
    ],
    registries: [
      {
        name: 'main',
        sources: ['published', 'cluster', 'blue'],
        claims: {},
        publishClaims: RED,
        marketplace: { name: 'main', owner: 'Main' },
      },
    ],
    adminAllowPrivateIP: true,
    content: { fetch: { hosts: ['git.example.com', 'ghcr.io'] } },
    web: { iconOrigins: ['https://icons.example.com'] },
    webhooks: [
      { name: 'siem', url: 'http://127.0.0.1:9/hook', secretFile: folder.write('secret', aWebhookSecret()) },
    ],
    limits: { changesPerMinute: 100_000 },
  };
}

interface Caller {
  get(path: string): Promise<Reply>;
  /** Discards the body of the response. */
  ask(method: string, path: string, body?: unknown): Promise<number>;
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>;
  readonly token: string;
}

function as(claims: Document, from = ATTACKER): Caller {
  const key = JSON.stringify(claims);
  const token = tokens.get(key) ?? issuer.sign({ area: 'all', ...claims });
  tokens.set(key, token);
  const send: Caller['send'] = (method, path, body, headers = {}) =>
    callWith(origin + path, method, {
      headers: { Authorization: `Bearer ${token}`, ...headers },
      body,
      from,
    });
  const ask: Caller['ask'] = (method, path, body) =>
    new Promise((done, reject) => {
      const payload = body === undefined || Buffer.isBuffer(body) ? body : JSON.stringify(body);
      const type = Buffer.isBuffer(body) ? 'application/octet-stream' : 'application/json';
      const headers = {
        Authorization: `Bearer ${token}`,
        ...(payload === undefined
          ? {}
          : { 'Content-Type': type, 'Content-Length': Buffer.byteLength(payload) }),
      };
      const options = { method, headers, agent: false, localAddress: from };
      const outgoing = request(origin + path, options, (response) => {
        response.on('end', () => done(response.statusCode ?? 0)).on('error', reject);
        response.resume();
      });
      outgoing.on('error', reject).end(payload);
    });
  return { token, send, ask, get: (path) => send('GET', path) };
}
const red = (sub: string, more: Document = {}) => as({ sub, ...RED, ...more });
const writer = (sub: string) => red(sub, { role: 'writer' });

/** Published by the attacking tenant: documents at their limits, held versions, files. */
async function fill(): Promise<void> {
  await writer('red-0').send('POST', '/v1/entries', { server: aServer('io.red/first'), claims: RED });
  await Promise.all([fillTables(), ...FILES.map(([name, files]) => fillSkill(name, files))]);
}

async function fillTables(): Promise<void> {
  const filled = Array.from({ length: FILLED }, (_, number) => {
    const tags = Array.from({ length: 400 }, (_, tag) => `t${number}-${tag}`);
    return aServer(`io.red/filled-${number}`, '1.0.0', {
      _meta: { [PUBLISHER]: { red: { tags } }, x: Array.from({ length: 18_000 }, () => []) },
    });
  });
  for (const server of filled) await insert(server);
  const large = aServer('io.red/large-', '1.0.0', { _meta: { x: 'PADDING' } });
  await insert({ ...large, name: 'io.red/large-0' });
  await database.query(
    `with added as (
       insert into entry (source_id, type, name, claim_set_id)
       select source_id, type, 'io.red/large-' || n, claim_set_id from entry, generate_series(1, $1::int) n
       where name = 'io.red/large-0' returning id, name
     )
     insert into entry_version (entry_id, version, version_key, document, digest, status, status_changed_at,
       published_at, updated_at, is_latest, search)
     select id, '1.0.0', name, replace(replace($2, 'io.red/large-', name), 'PADDING', repeat('x', 1000000)),
       decode(md5(name), 'hex'), 'active', now(), now(), now(), true, name from added`,
    [LARGE, JSON.stringify(large)],
  );
  await database.query(
    `insert into admission_item (id, source_id, type, name, version, status, reasons, digest, first_seen_at, claims, document)
     select gen_random_uuid(), s.id, 'server', 'io.held/s' || n, '1.0.0', 'withdrawn', '[]', decode(md5(n::text), 'hex'), now(),
       jsonb_build_object('org', 'red', 'n', (select jsonb_agg(n || repeat('x', 200) || g) from generate_series(1, 50) g)), '{}'
     from source s, generate_series(1, $1::int) n where s.name = 'published'`,
    [HELD],
  );
  await database.query(
    `insert into webhook_delivery select w.id, n::text, 'entry.publish', 'failed', 9, now(), repeat('e', 500)
     from webhook w, generate_series(1, 1000) n`,
  );
}

async function fillSkill(name: string, files: Readonly<Record<string, string | Buffer>>): Promise<void> {
  await writer('red-0').send('POST', '/v1/entries', { skill: aSkill(name), claims: RED });
  const skill = aSkillFile(name.slice(7), `The skill ${name}`, `# ${'\u0001'.repeat(255_000)}`);
  const entries = Object.entries({ 'SKILL.md': skill, ...files }).map(([path, data]) => ({
    name: path,
    data,
  }));
  expect((await upload(writer('red-0'), name, aZip(entries))).status).toBe(204);
}

const paths = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, number) => [`${'p'.repeat(200)}/${'q'.repeat(200)}-${number}`, 'x']),
  );

const FILES = [
  ['io.red/texts', { 'README.md': '\u0001'.repeat(256 * 1_024), ...paths(500) }],
  ['io.red/bytes', { data: randomBytes(12 * MIB) }],
] as const;

async function insert(server: Document): Promise<void> {
  const document = JSON.stringify(server);
  const { name } = server as { name: string };
  await database.query(
    `with added as (
       insert into entry (source_id, type, name, claim_set_id)
       select source_id, 'server', $1, claim_set_id from entry where name = 'io.red/first' returning id
     )
     insert into entry_version (entry_id, version, version_key, document, digest, status, status_changed_at,
       published_at, updated_at, is_latest, search)
     select id, '1.0.0', $1, $2, $3, 'active', now(), now(), now(), true, $1 from added`,
    [name, document, createHash('sha256').update(document).digest()],
  );
}

const upload = (by: Caller, name: string, body: Buffer) =>
  by.send('PUT', entryAt('skill', name, '/versions/1.0.0/content'), body, {
    'Content-Type': 'application/octet-stream',
  });

/** The statuses of the attackers' responses; 0 if the connection was closed. */
type Statuses = Set<number>;

/** Sends requests until the time is up, many concurrently, from all people in turn. */
async function flood(
  atOnce: number,
  ask: (person: string, number: number) => Promise<number>,
): Promise<Statuses> {
  const end = performance.now() + SECONDS * 1_000;
  const statuses = new Set<number>();
  let number = 0;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      do {
        const current = number++;
        statuses.add(await ask(PERSONS[current % PERSONS.length] ?? '', current).catch(() => 0));
      } while (performance.now() < end);
    }),
  );
  return statuses;
}

interface Slowly {
  /** Sent repeatedly. */
  readonly trickle?: Buffer;
  /** Ends no sooner than this. */
  readonly until?: () => Promise<unknown>;
}

/** Opens connections that send a request and read nothing, or send a body slowly, until the time is up. */
async function slowly(
  count: number,
  rawRequestOf: (person: string) => Buffer,
  { trickle, until }: Slowly = {},
): Promise<void> {
  const sockets = Array.from({ length: count }, (_, number): Socket => {
    const { port } = new URL(origin);
    const socket = connect({ host: '127.0.0.1', port: Number(port), localAddress: ATTACKER });
    socket.on('error', () => undefined).pause();
    socket.write(rawRequestOf(PERSONS[number % PERSONS.length] ?? ''));
    return socket;
  });
  const end = performance.now() + SECONDS * 1_000;
  try {
    while (performance.now() < end) {
      if (trickle) for (const socket of sockets) if (!socket.destroyed) socket.write(trickle);
      await sleep(50);
    }
    await until?.();
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

function rawRequest(method: string, path: string, token: string, headers: Document = {}, body = ''): Buffer {
  const all = {
    Host: 'r',
    Authorization: `Bearer ${token}`,
    ...(method === 'GET' ? {} : { 'Content-Length': body.length }),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${String(value)}`);
  return Buffer.from([`${method} ${path} HTTP/1.1`, ...lines, '', body].join('\r\n'));
}

const UPLOAD_PACK = `${MAIN}/git/marketplace.git`;
const pkt = (text: string) => `${(text.length + 4).toString(16).padStart(4, '0')}${text}`;

interface Attack {
  readonly run: () => Promise<Statuses>;
  /** One of the responses shows that the attack works. */
  readonly answered: readonly number[];
}

const ATTACKS: Record<string, Attack> = {
  'feeds that are outdated by publications': {
    answered: [200, 201],
    run: () =>
      flood(30, (person, number) =>
        number % 20 === 0
          ? writer(person).ask('POST', '/v1/entries', {
              server: aServer(`io.red/new-${number}`),
              claims: RED,
            })
          : red(person).ask('GET', `${MAIN}/x/feed.atom`),
      ),
  },

  'made-up tokens at a provider that hangs': {
    answered: [429],
    run: async () => {
      let release = () => {};
      let refused = 0;
      issuer.injectFault('introspection', { after: new Promise<void>((done) => (release = done)) });
      const flooding = flood(200, async (_, number) => {
        const headers = { Authorization: `Bearer made-up-${number}` };
        const { status } = await call(`${origin}${MAIN}/v0.1/servers`, { headers, from: ATTACKER });
        refused += status === 429 ? 1 : 0;
        return status;
      });
      await within(20_000, () => expect(refused).toBeGreaterThan(0));
      await sleep(SECONDS * 1_000);
      release();
      issuer.behave();
      return flooding;
    },
  },

  'searches with many tags': {
    answered: [200],
    run: () =>
      flood(30, (person, number) => {
        const sort = ['relevance', 'updated', 'name'][number % 3];
        const tag = number % 2 ? '' : 't1-1';
        return red(person).ask('GET', `${MAIN}/v0.1/x/search?sort=${sort}&limit=100&tag=${tag}`);
      }),
  },

  'searches with many words': {
    answered: [200],
    run: () =>
      flood(30, (person, number) => {
        const words = Array.from({ length: 20 }, (_, word) =>
          'io.red/filled-1'.slice(word % 10, 11 + ((word + number) % 5)),
        );
        return red(person).ask('GET', `${MAIN}/v0.1/x/search?q=${encodeURIComponent(words.join(' '))}`);
      }),
  },

  'archives that unpack to many bytes, and others that arrive slowly': {
    // Uploads over a limit get 429 or 503, depending on which limit they meet first.
    answered: [413],
    run: async () => {
      for (const person of PERSONS) {
        const skill = aSkill(`io.red/upload-${person}`);
        await writer('red-0').send('POST', '/v1/entries', { skill, claims: RED });
      }
      const bomb = aZip([{ name: 'SKILL.md', data: Buffer.alloc(17 * MIB) }]);
      const folders = await aTarGz(
        Array.from({ length: 4_000 }, (_, n) => ({ name: `d${n}/`, type: 'directory' as const })),
      );
      const at = (person: string) => entryAt('skill', `io.red/upload-${person}`, '/versions/1.0.0/content');
      const headers = { 'Content-Type': 'application/zip', 'Content-Length': 16 * MIB };
      const [statuses] = await Promise.all([
        flood(30, (person, number) => writer(person).ask('PUT', at(person), number % 2 ? bomb : folders)),
        slowly(6, (person) => rawRequest('PUT', at(person), writer(person).token, headers), {
          trickle: Buffer.alloc(64 * 1_024, 'PK'),
        }),
      ]);
      return statuses;
    },
  },

  'zip files that are read slowly': {
    answered: [503],
    run: async () => {
      const path = `${MAIN}/x/content/skill/io.red/bytes/latest.zip`;
      const refused = async () => expect(await red('red-0').ask('GET', path)).toBe(503);
      await slowly(80, (person) => rawRequest('GET', path, red(person).token), {
        until: () => within(20_000, refused),
      });
      return new Set([503]);
    },
  },

  'lists of files with long texts': {
    answered: [200],
    run: () =>
      flood(16, (person) => red(person).ask('GET', `${MAIN}/x/content/skill/io.red/texts/latest/files`)),
  },

  'marketplaces that are cloned slowly': {
    answered: [200],
    run: async () => {
      const references = await red('red-0').get(`${UPLOAD_PACK}/info/refs?service=git-upload-pack`);
      const [head = ''] = /[0-9a-f]{40}(?= HEAD)/.exec(references.text) ?? [];
      expect(head).not.toBe('');
      const body = `${pkt(`want ${head} ofs-delta\n`)}0000${pkt('done\n')}`;
      const headers = { 'Content-Type': 'application/x-git-upload-pack-request' };
      const path = `${UPLOAD_PACK}/git-upload-pack`;
      const [statuses] = await Promise.all([
        flood(20, (person) => red(person).ask('GET', `${MAIN}/x/marketplace.json`)),
        slowly(40, (person) => rawRequest('POST', path, red(person).token, headers, body)),
      ]);
      return statuses;
    },
  },

  'previews of blocks over long documents': {
    answered: [200],
    run: () =>
      flood(2, () =>
        as(SUPER).ask('POST', '/v1/blocks/preview', {
          remotes: Array.from({ length: 200 }, (_, number) => `https://*.*.${number}.example.com/*`),
          reason: 'x',
        }),
      ),
  },

  'lists of webhooks and deliveries': {
    answered: [200],
    run: () =>
      flood(30, (_, number) =>
        as(SUPER).ask('GET', number % 2 ? '/v1/webhooks' : '/v1/webhooks/siem/deliveries'),
      ),
  },

  'explanations and validations at their limits': {
    answered: [200],
    run: () => {
      const claims = Object.fromEntries(
        Array.from({ length: 100 }, (_, key) => [`k${key}`, Array.from({ length: 2 }, (_, n) => `v${n}`)]),
      );
      const entry = { type: 'server', name: 'io.red/first' };
      return flood(12, (person, number) => {
        const server = aServer(`io.red/v-${number}`, '1.0.0', { _meta: { x: 'x'.repeat(780_000) } });
        return number % 2
          ? red(person, { role: 'admin' }).ask('POST', '/v1/access/explain', {
              registry: 'main',
              entry,
              as: { claims },
            })
          : writer(person).ask('POST', '/v1/entries/validate', { server, claims: RED });
      });
    },
  },

  'documents with a megabyte of invalid packages': {
    answered: [400],
    run: () => {
      const packages = Array.from({ length: 30_000 }, () => ({ identifier: '\n', a: 1 }));
      const body = { server: aServer('io.red/wrong', '1.0.0', { packages }), claims: RED };
      return flood(4, (person) => writer(person).ask('POST', '/v1/entries/validate', body));
    },
  },

  'references to content that take long to match': {
    answered: [201],
    run: () => {
      const oci = { registryType: 'oci', identifier: '.'.repeat(300_000) };
      const subfolder = `${'a'.padEnd(300_000, '/')}x`;
      const folder = { registryType: 'git', url: 'https://git.example.com/a', subfolder };
      return flood(8, (person, number) => {
        const packages = [number % 2 ? oci : folder];
        const skill = aSkill(`io.red/content-${number}`, '1.0.0', { packages });
        return writer(person).ask('POST', '/v1/entries', { skill, claims: RED });
      });
    },
  },

  'lists of held versions with many claims': {
    answered: [200],
    run: () =>
      flood(6, (person, number) => {
        const limit = number % 2 ? 100 : 1;
        const reviewer = red(person, { job: 'reviewer' });
        return reviewer.ask('GET', `/v1/admission?status=withdrawn&limit=${limit}`);
      }),
  },

  'icons of a document with many': {
    answered: [204],
    run: async () => {
      const icons = Array.from({ length: 9_000 }, (_, n) => ({ src: `https://icons.example.org/${n}.png` }));
      const server = aServer('io.red/icons', '1.0.0', { icons });
      await writer('red-0').send('POST', '/v1/entries', { server, claims: RED });
      return flood(20, (person) => red(person).ask('GET', `${MAIN}/v0.1/x/icon/server/io.red%2Ficons`));
    },
  },

  'a Git tree with many files': {
    answered: [200],
    run: async () => {
      const tree = Object.fromEntries(
        Array.from({ length: TREE_FILES }, (_, n) => [`d${n % 100}/${'f'.repeat(100)}${n}`, '']),
      );
      await git.repository('acme').commit({ ...tree, 'registry.json': '{' });
      const settings = { repository: git.url('acme'), branch: 'main', path: 'registry.json' };
      return flood(10, (person) =>
        red(person, { role: 'admin' }).ask('POST', '/v1/sources/red-tree/test', {
          git: settings,
          syncPolicy: { interval: '1d' },
          claims: RED,
        }),
      );
    },
  },

  'objects of a cluster at their limit': {
    answered: [200],
    run: () =>
      flood(1, async (person, number) => {
        for (let object = 0; object < 4; object += 1)
          cluster.put('MCPServer', `red/o${(number + object) % CLUSTER_OBJECTS}`, exported(randomUUID()), {
            image: 'acme/x:1',
            podTemplateSpec: 'y'.repeat(1_200_000),
          });
        await sleep(20);
        return red(person).ask('GET', `${MAIN}/v0.1/servers`);
      }),
  },
};

interface Vitals {
  readonly longestBlockMs: number;
}

async function vitals(): Promise<Vitals> {
  const from = served.output.length;
  served.child.kill('SIGUSR2');
  for (;;) {
    const line = /^\{"vitals":.*\}$/m.exec(served.output.slice(from))?.[0];
    if (line !== undefined) return (JSON.parse(line) as { vitals: Vitals }).vitals;
    if (served.child.exitCode !== null) throw new Error(served.output.slice(-2_000));
    await sleep(5);
  }
}

/** The peak RSS since the last call. Only Linux reports it. */
function peakMiB(): number {
  if (process.platform !== 'linux') return 0;
  const proc = `/proc/${served.child.pid}`;
  const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`${proc}/status`, 'utf8'))?.[1];
  writeFileSync(`${proc}/clear_refs`, '5');
  return Number(peak) / 1_024;
}

/** Reads until stopped; returns the requests that did not get 200. */
function neighbour(): () => Promise<{ answered: number; failed: string[] }> {
  const { get } = as({ sub: 'blue', ...BLUE }, NEIGHBOUR);
  const failed: string[] = [];
  let answered = 0;
  let isReading = true;
  const read = async (path: string, ask: () => Promise<Reply>) => {
    while (isReading) {
      const { status, text } = await ask();
      if (status === 200) answered += 1;
      else failed.push(`${path}: ${status} ${text.slice(0, 200)}`);
      await sleep(20);
    }
  };
  const paths = ['/v0.1/servers', '/v0.1/servers/io.blue%2Ftool/versions/latest', '/v0.1/x/search?q=tool'];
  const reading = Promise.all([
    ...paths.map((path) => read(path, () => get(MAIN + path))),
    ...['/health', '/readiness'].map((path) => read(path, () => call(internal + path))),
  ]);
  return async () => {
    isReading = false;
    await reading;
    return { answered, failed };
  };
}

describe('a tenant during attacks by another, with a heap of 256 MiB', () => {
  beforeAll(async () => {
    // A first run fills the search index and the caches.
    await neighbour()();
    await vitals();
  });

  it.each(Object.keys(ATTACKS))('gets responses during %s', async (name) => {
    peakMiB();
    await vitals();
    const stop = neighbour();
    const { run, answered: expected } = ATTACKS[name] as Attack;
    const statuses = await run();
    const { answered, failed } = await stop();
    const { longestBlockMs } = await vitals();
    const peak = Math.round(peakMiB());
    const seen = [...statuses].sort((one, other) => one - other);
    console.info(`${name}: blocked ${longestBlockMs} ms, ${peak} MiB, ${answered} reads, ${seen.join()}`);
    expect(failed.slice(0, 5)).toEqual([]);
    expect(seen).toEqual(expect.arrayContaining([...expected]));
    expect(seen).not.toContain(500);
    expect(longestBlockMs, 'longest block').toBeLessThan(LONGEST_BLOCK_MS);
    expect(peak, 'peak').toBeLessThan(PEAK_MIB);
    expect(served.child.exitCode).toBeNull();
  });
});
