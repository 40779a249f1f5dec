import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { openRegistriesIn, outcomeOf } from '../support/answers.js';
import { ACME_ADMIN, CONTOSO_ADMIN, SUPER_ADMIN } from '../support/callers.js';
import { Cli } from '../support/cli.js';
import { aDatabase, type TestDatabase } from '../support/database.js';
import { aFolder } from '../support/folder.js';
import { call, type Reply, type Sender } from '../support/http.js';
import { anIssuer } from '../support/issuer.js';
import { aService, type ServiceUnderTest } from '../support/service.js';

const KIB = 1024;
const MIB = KIB * KIB;
/** A source with a filter of this many characters; 0: without one. */
const aSource = (length = 0, claims: object = {}) => ({
  file: { url: 'https://catalogue.example/registry.json' },
  syncPolicy: { interval: '30d' },
  ...(length === 0 ? {} : { filter: filterOf(length) }),
  claims,
});
const filterOf = (length: number) => {
  const exclude = Array.from({ length: 200 }, (_, index) => `${index}`.padEnd(length / 400 - 3, 'x'));
  return { names: { exclude }, tags: { exclude } };
};

/** Inserts sources or registries as the API would, many at once. Each has its own claims with `filler` characters. */
async function insertMany(
  database: TestDatabase,
  what: 'source' | 'registry',
  { prefix, count, org, filler }: { prefix: string; count: number; org: string; filler: number },
): Promise<void> {
  const claims = `jsonb_build_object('org', $2::text, 'n', $1::text || n, 'filler', repeat('x', $3::int))`;
  await database.query(
    `with sets as (
       insert into claim_set (claims, digest)
       select ${claims}, sha256(convert_to($1::text || n || $2::text, 'UTF8')) from generate_series(1, $4::int) n
       on conflict (digest) do update set digest = excluded.digest
       returning id, claims->>'n' as name
     ), made as (
       ${
         what === 'registry'
           ? `insert into registry (name, claim_set_id, origin, position) select name, id, 'api', 0 from sets`
           : `insert into source (name, kind, settings, filter, interval_ms, claim_set_id, origin)
              select name, 'file', '{"url": "https://catalogue.example/a.json"}',
                jsonb_build_object('names', jsonb_build_object('exclude', jsonb_build_array(repeat('x', $3::int)))),
                86400000, id, 'api' from sets`
       }
       returning id
     )
     ${
       what === 'registry'
         ? 'select count(*) from made'
         : `insert into source_sync (source_id, next_run_at, status, last_success_at)
            select id, now() + interval '1 day', 'complete', now() from made`
     }`,
    [prefix, org, filler, count],
  );
}

interface Page {
  sources?: { name: string }[];
  registries?: { name: string }[];
  metadata: { count: number; nextCursor?: string };
}

/** All names of a list, page by page. No page may be longer than 1 MiB. */
async function namesOf(sender: Sender, path: string): Promise<string[]> {
  const names: string[] = [];
  for (let cursor: string | undefined; ;) {
    const reply: Reply = await sender.get(cursor === undefined ? path : `${path}?cursor=${cursor}`);
    expect(reply.status).toBe(200);
    expect(Buffer.byteLength(reply.text)).toBeLessThanOrEqual(MIB);
    const { sources = [], registries = [], metadata } = reply.json as Page;
    expect(metadata.count).toBe(sources.length + registries.length);
    names.push(...[...sources, ...registries].map(({ name }) => name));
    cursor = metadata.nextCursor;
    if (cursor === undefined) return names;
  }
}

describe('limits.apiSources and limits.apiRegistries', () => {
  const service = aService()
    .source('declared', { servers: [] })
    .registry('declared', { sources: ['declared'] })
    .configuration({ limits: { apiSources: 3, apiRegistries: 3 } })
    .runs();
  let replica: ServiceUnderTest;
  beforeAll(async () => {
    replica = service.replica();
    await replica.start();
  });
  afterAll(() => replica.stop());

  it.each([
    ['sources', 'too_many_sources', aSource()],
    ['registries', 'too_many_registries', { sources: ['declared'] }],
  ])(
    'hold for concurrent PUTs of %s on two replicas; one that exists can be replaced',
    async (what, code, body) => {
      const put = (index: number) =>
        (index % 2 === 0 ? service : replica).put(`/v1/${what}/made-${index}`, body);
      const outcomes = (await Promise.all(Array.from({ length: 10 }, (_, index) => put(index)))).map(
        outcomeOf,
      );
      expect(outcomes.sort()).toEqual([
        ...Array<string>(3).fill('201'),
        ...Array<string>(7).fill(`409 ${code}`),
      ]);
      const [made, another] = (await namesOf(service, `/v1/${what}`)).filter((name) => name !== 'declared');
      const changed = { ...body, claims: { org: 'acme' } };
      expect(outcomeOf(await service.put(`/v1/${what}/${made}`, changed))).toBe('200');
      expect(outcomeOf(await service.delete(`/v1/${what}/${another}`))).toBe('204');
      expect(outcomeOf(await service.put(`/v1/${what}/new`, body))).toBe('201');
      expect(outcomeOf(await service.put(`/v1/${what}/more`, body))).toBe(`409 ${code}`);
    },
  );
});

describe('settings made through the API', () => {
  const service = aService().source('declared', { servers: [] }).runs();

  it('have at most 64 KiB, whatever else the body repeats', async () => {
    const put = async (body: object) => outcomeOf(await service.put('/v1/sources/made', body));
    const body = aSource(63 * KIB);
    expect(JSON.stringify(body).length).toBeLessThan(64 * KIB);
    expect(await put(aSource(65 * KIB))).toBe('400 settings_too_long');
    expect(await put(body)).toBe('201');
    expect(await put({ ...body, sync: { skipped: ['x'.repeat(2 * KIB)] } })).toBe('200');
    expect(await put({ ...aSource(65 * KIB), more: 1 })).toBe('400 invalid_body');
    const registry = async (length: number) => {
      const claims = {
        org: Array.from({ length: 512 }, (_, index) => `${index}`.padEnd(length / 512 - 3, 'x')),
      };
      return outcomeOf(await service.put('/v1/registries/made', { sources: ['declared'], claims }));
    };
    expect(await registry(63 * KIB)).toBe('201');
    expect(await registry(65 * KIB)).toBe('400 settings_too_long');
  });
});

describe('the lists of sources and registries', () => {
  const service = aService({ mode: 'full' })
    .source('declared', { claims: { org: 'contoso' }, servers: [] })
    .registry('declared', { sources: ['declared'], claims: { org: 'contoso' } })
    .configuration({ limits: { apiSources: 1_000 } })
    .runs();

  beforeAll(async () => {
    for (const what of ['source', 'registry'] as const)
      await insertMany(service.database, what, { prefix: 'acme-', count: 40, org: 'acme', filler: 60 * KIB });
  });
  const n = Array.from({ length: 40 }, (_, index) => `acme-${index + 1}`);
  it.each(['/v1/sources', '/v1/registries'])('end at 1 MiB and continue: %s', async (path) => {
    expect((await namesOf(service.as(SUPER_ADMIN), path)).sort()).toEqual([...n, 'declared'].sort());
    const first = (await service.as(SUPER_ADMIN).get(path)).json as Page;
    expect(first.metadata.nextCursor).toBeDefined();
    expect(first.metadata.count).toBeLessThan(20);
  });

  it.each(['/v1/sources', '/v1/registries'])(
    'show each caller what they reach, and no cursor beyond: %s',
    async (path) => {
      expect(await namesOf(service.as(CONTOSO_ADMIN), path)).toEqual(['declared']);
      const limited = (await service.as(CONTOSO_ADMIN).get(`${path}?limit=1`)).json as Page;
      expect(limited.metadata).toEqual({ count: 1 });
      expect(await namesOf(service.as(ACME_ADMIN), path)).toEqual([]);
    },
  );

  it('GET /registry names what the caller may enter', async () => {
    expect(openRegistriesIn(await service.as(CONTOSO_ADMIN).get('/registry'))).toEqual(['declared']);
    expect(openRegistriesIn(await service.as(SUPER_ADMIN).get('/registry'))).toEqual(['declared', ...n]);
  });

  it('a limit of a page also counts for the pages that follow', async () => {
    const first = (await service.as(SUPER_ADMIN).get('/v1/sources?limit=2')).json as Page;
    const cursor = String(first.metadata.nextCursor);
    const second = (await service.as(SUPER_ADMIN).get(`/v1/sources?cursor=${cursor}`)).json as Page;
    expect([first.metadata.count, second.metadata.count]).toEqual([2, 2]);
    expect(second.sources?.[0]?.name).toBe(n.sort()[2]);
  });
});

describe('1 000 sources and registries with long settings', () => {
  const issuer = anIssuer();
  const folder = aFolder();
  let database: TestDatabase;
  let file = '';
  let served: Cli;
  let origin = '';
  const start = async () => {
    served = Cli.serve(file, { NODE_OPTIONS: '--max-old-space-size=256' });
    origin = await served.origin();
  };
  beforeAll(async () => {
    database = await aDatabase();
    await issuer.start();
    const provider = { name: 'p', issuerUrl: issuer.iss, audience: issuer.audience, allowPrivateIP: true };
    const rules = { role: 'admin' };
    const configuration = {
      auth: {
        mode: 'oauth',
        oauth: { resourceUrl: 'https://registry.example.com', providers: [provider] },
        authz: {
          roles: { superAdmin: [{ role: 'super-admin' }], manageSources: [rules], manageRegistries: [rules] },
        },
      },
      database: database.connection,
      sources: [{ name: 'declared', managed: {} }],
      registries: [{ name: 'declared', sources: ['declared'] }],
    };
    file = folder.write('registry.yaml', stringify(configuration));
    await start();
    for (const what of ['source', 'registry'] as const)
      await insertMany(database, what, { prefix: 'made-', count: 1_000, org: 'acme', filler: 30 * KIB });
    await database.query(
      `insert into registry_source (registry_id, position, source_id)
       select r.id, row_number() over (order by s.id), s.id from registry r, source s
       where r.name = 'made-1' and s.name <> 'declared'`,
    );
  });
  afterAll(async () => {
    served.child.kill('SIGTERM');
    await served.finished;
    await issuer.stop();
    await database.drop();
  });
  const ask = (claims: Record<string, unknown>, path: string) =>
    call(origin + path, { headers: { Authorization: `Bearer ${issuer.sign(claims)}` } });

  const peakMiB = async () => {
    const status = await readFile(`/proc/${served.child.pid}/status`, 'utf8');
    return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / KIB;
  };

  it('do not exhaust a heap of 256 MiB, whatever is asked about them at once', async () => {
    const lists = ['/v1/sources', '/v1/registries', '/registry'];
    const one = ['/v1/registries/made-1', '/registry/made-1/v0.1/servers'];
    const asked = Array.from({ length: 5 }, () => [
      ...lists.map((path) => ask(CONTOSO_ADMIN, path)),
      ...[...lists, ...one].map((path) => ask(SUPER_ADMIN, path)),
    ]).flat();
    const replies = await Promise.all(asked);
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
    expect((await ask(CONTOSO_ADMIN, '/v1/sources')).json).toMatchObject({ metadata: { count: 1 } });
    expect(await peakMiB()).toBeLessThan(400);
  });

  it('do not stop a start at which all of them are due', async () => {
    served.child.kill('SIGTERM');
    await served.finished;
    await database.query(
      `update source_sync set next_run_at = now(), status = 'pending', last_success_at = null, last_attempt_at = null`,
    );
    await start();
    expect((await ask(SUPER_ADMIN, '/v1/registries/made-1')).status).toBe(200);
    const attempted = async () => {
      const [row] = await database.query<{ count: string }>(
        `select count(*) from source_sync where last_attempt_at is not null`,
      );
      return Number(row?.count);
    };
    await expect.poll(attempted).toBeGreaterThan(100);
    expect(await peakMiB()).toBeLessThan(400);
  });
});
