import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { aCatalogue, aServer, aSkill } from '../support/documents.js';
import { expectRefused, versionsIn } from '../support/matchers.js';
import { demandRevisions } from '../support/revisions.js';
import { aService } from '../support/service.js';
import { inSoak } from '../support/soak.js';

/** Is read and written in several batches. */
const COUNT = inSoak(10_000, 2_500);
const odd = { nested: [{ 'odd key': null, n: 1.5e3 }], '': 'empty', ключ: '✓ \u0000 \ud83d\ude80' };
const kept = aServer('io.acme/kept', '1.0.0', {
  odd,
  _meta: { 'io.modelcontextprotocol.registry/publisher-provided': odd },
});
/** Each describe has a source, in a registry of the same name. */
const SOURCES = ['changes', 'unusable', 'mixed', 'characters', 'many'];
const service = aService()
  .source('changes', {
    servers: [kept, aServer('io.acme/leaves'), aServer('io.acme/changes')],
    claims: { org: 'acme' },
  })
  .source('unusable', { servers: [aServer('io.acme/stays')] })
  .source('mixed', { servers: [aServer('io.acme/first')] })
  .source('characters', { servers: [aServer('io.acme/first')] })
  .source('many', { servers: [aServer('io.acme/s0')] });
for (const name of SOURCES) service.registry(name, { sources: [name] });
service.runs();
demandRevisions(service);

const list = async (registry: string) =>
  versionsIn(await service.get(`/registry/${registry}/v0.1/servers?limit=100`));

/**
 * Changes with every row written to the catalog: the rows' positions and the transactions that wrote them.
 */
async function rowMark(): Promise<string> {
  const rows = ['entry', 'entry_version', 'claim_set', 'source', 'registry'].map(
    (table) =>
      `select '${table}', count(*), md5(string_agg(ctid::text || xmin::text, ',' order by id)) from ${table}`,
  );
  return JSON.stringify(await service.database.query(rows.join(' union all ')));
}

describe('a file that changes', () => {
  it("serves documents deep-equal to the file's, including unknown keys", async () => {
    const reply = await service.get('/registry/changes/v0.1/servers/io.acme%2Fkept/versions/latest');
    expect((reply.json as { server: unknown }).server).toEqual(kept);
  });

  it("stores the source's claims on its entries", async () => {
    const rows = await service.database.query<{ claims: unknown }>(
      `select distinct c.claims from entry e join claim_set c on c.id = e.claim_set_id
       join source s on s.id = e.source_id where s.name = 'changes'`,
    );
    expect(rows).toEqual([{ claims: { org: 'acme' } }]);
  });

  it('applies only additions, changes and removals', async () => {
    const before = (await service.get('/registry/changes/v0.1/servers/io.acme%2Fkept/versions/latest')).text;
    await service.rewrite('changes', {
      servers: [
        kept,
        aServer('io.acme/changes', '1.0.0', { description: 'new' }),
        aServer('io.acme/changes', '2.0.0'),
      ],
    });
    const report = await service.synced('changes');
    expect(report.counts).toMatchObject({ added: 1, changed: 1, removed: 1, unchanged: 1, entries: 3 });
    expect(await list('changes')).toEqual([
      'io.acme/changes@2.0.0',
      'io.acme/changes@1.0.0',
      'io.acme/kept@1.0.0',
    ]);
    expect((await service.get('/registry/changes/v0.1/servers/io.acme%2Fkept/versions/latest')).text).toBe(
      before,
    );
    const latest = await service.get('/registry/changes/v0.1/servers/io.acme%2Fchanges/versions/latest');
    expect(latest.json).toMatchObject({ server: { version: '2.0.0' } });
  });

  it('falls back to the next version when the latest is removed', async () => {
    await service.rewrite('changes', { servers: [kept, aServer('io.acme/changes')] });
    await service.synced('changes');
    const latest = await service.get('/registry/changes/v0.1/servers/io.acme%2Fchanges/versions/latest');
    expect(latest.json).toMatchObject({ server: { version: '1.0.0' } });
  });

  it('writes no rows when only the spelling changes, or nothing', async () => {
    await service.synced('changes');
    const before = await rowMark();
    await service.synced('changes');
    expect(await rowMark()).toBe(before);
    const text = JSON.stringify(aCatalogue([kept, aServer('io.acme/changes')]), null, 4);
    await service.rewrite('changes', { text: `\ufeff\n${text}\n` });
    expect((await service.synced('changes')).counts).toMatchObject({ unchanged: 2, changed: 0 });
    expect(await rowMark()).toBe(before);
  });
});

describe('an unusable file', () => {
  const legacy = { version: '1.0.0', last_updated: '', servers: { weather: { image: 'x' } } };
  it.each([
    ['nothing', '', /valid JSON|registry format/],
    ['truncated JSON', JSON.stringify(aCatalogue([aServer('io.acme/new')])).slice(0, -9), /valid JSON/],
    ['not JSON', '<html>', /valid JSON/],
    ['an array', '[]', /no entries/],
    ['a number', '7', /not a JSON object/],
    ['another format', '{}', /version: .*meta\.last_updated: .*data: /],
    ['the legacy format', JSON.stringify(legacy), /legacy ToolHive registry format.*[Cc]onvert/],
    [
      'no valid entry',
      JSON.stringify(aCatalogue([{ name: 'io.acme/x', version: '1' }], [{}])),
      /^None of the 2 entries is valid; the first, data\.servers\[0\] \(io\.acme\/x 1\): description: is required$/,
    ],
    ['no entry', JSON.stringify(aCatalogue([])), /no entries/],
    ['an unclosed string', '{"version":"1.0.0', /never closed/],
    [
      'duplicate servers lists',
      '{"version":"1.0.0","meta":{"last_updated":"2026-01-01T00:00:00Z"},"data":{"servers":[],"servers":[]}}',
      /contains the key "data\.servers" twice/,
    ],
    [
      'duplicate servers lists, one with an escaped key',
      `{"version":"1.0.0","meta":{"last_updated":"2026-01-01T00:00:00Z"},"data":{"servers":[${JSON.stringify(aServer('io.acme/one'))}],"s\\u0065rvers":[]}}`,
      /contains the key "data\.servers" twice/,
    ],
    [
      'a duplicate key of the file',
      `{"version":"1.0.0","meta":{"last_updated":"2026-01-01T00:00:00Z"},"data":{"servers":[${JSON.stringify(aServer('io.acme/one'))}]},"data":5}`,
      /contains the key "data" twice/,
    ],
    [
      'a duplicate key with characters the database refuses',
      `{"version":"1.0.0","meta":{"\\u0000\\ud83d":1,"\\u0000\\ud83d":2},"data":{"servers":[]}}`,
      /contains the key "meta\.\ufffd\ufffd" twice/,
    ],
    [
      'a duplicate key before the servers',
      `{"version":"1.0.0","meta":{"last_updated":"2026-01-01T00:00:00Z","last_updated":"x"},"data":{"servers":[]}}`,
      /contains the key "meta\.last_updated" twice/,
    ],
    [
      'a trailing comma',
      '{"version":"1.0.0","meta":{"last_updated":"2026-01-01T00:00:00Z"},"data":{"servers":[1,]}}',
      /malformed/,
    ],
  ])('keeps the earlier entries and reports the reason: %s', async (_what, text, why) => {
    await service.rewrite('unusable', { text });
    const report = await service.synced('unusable');
    expect(report.status).toBe('failed');
    expect(report.error).toMatch(why);
    expect(await list('unusable')).toEqual(['io.acme/stays@1.0.0']);
  });

  it('reports a missing file, a directory and invalid UTF-8, and recovers', async () => {
    const file = service.fileOf('unusable');
    await rename(file, `${file}.away`);
    expect((await service.synced('unusable')).error).toMatch(/there is no such file/);
    await mkdir(file);
    expect((await service.synced('unusable')).error).toMatch(/not a regular file/);
    await rm(file, { recursive: true });
    await writeFile(file, Buffer.from([0x7b, 0xff, 0xfe, 0x7d]));
    expect((await service.synced('unusable')).error).toMatch(/not UTF-8/);
    expect(await list('unusable')).toEqual(['io.acme/stays@1.0.0']);
    await service.rewrite('unusable', { servers: [aServer('io.acme/stays'), aServer('io.acme/again')] });
    expect(await service.synced('unusable')).toMatchObject({ status: 'complete', attempts: 0, error: null });
    expect(await list('unusable')).toEqual(['io.acme/again@1.0.0', 'io.acme/stays@1.0.0']);
  });

  it('shows the sync state to administrators', async () => {
    await service.rewrite('unusable', { text: '7' });
    await service.synced('unusable');
    const { json } = await service.get('/v1/sources/unusable');
    expect(json).toMatchObject({
      name: 'unusable',
      kind: 'file',
      origin: 'config',
      sync: { status: 'failed', error: 'The file is not a JSON object' },
    });
    // The change to the file may have caused another run.
    expect((json as { sync: { attempts: number } }).sync.attempts).toBeGreaterThan(0);
    expect((await service.get('/v1/sources')).json).toMatchObject({
      sources: [...SOURCES].sort().map((name) => ({ name })),
      metadata: { count: SOURCES.length },
    });
    expectRefused(await service.get('/v1/sources/nobody'), 404, 'source_not_found');
  });
});

describe('a file with valid and invalid entries', () => {
  const bad = [
    [null, 'must be an object, not null'],
    [
      { ...aServer('io.acme/long'), description: 'x'.repeat(101) },
      'description: has 101 characters, at most 100',
    ],
    [aServer('no-slash'), 'name: "no-slash" must be a namespace and a name separated by exactly one slash'],
    [aServer('io.acme/range', '^1.2.0'), 'version: "^1.2.0" is a range'],
    [aServer('io.acme/latest', 'latest'), 'version: "latest" is not a version'],
    [aServer('io.acme/kept', '1.0.0', { description: 'again' }), 'twice'],
    [
      aServer('io.acme/p', '1.0.0', { packages: [{ identifier: 'x', transport: { type: 'sse' } }] }),
      'packages[0].registryType: is required; packages[0].transport.url: is required for a transport of type "sse"',
    ],
  ] as const;
  const twice = `{"name":"io.acme/twice","name":"io.acme/kept2","description":"d","version":"1.0.0"}`;
  const text = JSON.stringify(
    aCatalogue([aServer('io.acme/kept'), ...bad.map(([document]) => document)], [aSkill('io.acme/sk'), {}]),
  );

  it('serves the valid ones and reports the others with their reasons', async () => {
    await service.rewrite('mixed', { text: text.replace('"servers":[', `"servers":[${twice},`) });
    await service.synced('mixed');
    expect(await list('mixed')).toEqual(['io.acme/kept@1.0.0']);
    const { sync } = (await service.get('/v1/sources/mixed')).json as {
      sync: { status: string; counts: object; skipped: { name: string | null; reasons: string[] }[] };
    };
    expect(sync).toMatchObject({ status: 'complete', counts: { entries: 2, skipped: 9 } });
    const reasons = sync.skipped.map((entry) => entry.reasons.join('; '));
    expect(reasons[0]).toBe('name: the key is given twice in one object');
    for (const [index, [, reason]] of bad.entries()) expect(reasons[index + 1]).toContain(reason);
  });
});

describe('entries with characters that the database cannot store or parsers refuse', () => {
  const half = '\\ud83d';
  const raw = [
    `{"name":"io.acme/${half}","description":"d","version":"1.0.0"}`,
    `{"name":"io.acme/v","description":"d","version":"1${half}"}`,
    `{"name":"io.acme/w","description":"d","version":"1","websiteUrl":"${'x'.repeat(74)}\\ud83d\\ude80${'x'.repeat(9)}"}`,
    `{"name":"io.acme/n\\u0000","description":"d","version":"1.0.0"}`,
  ];
  const skills = [`{"namespace":"io.\\u0000","name":"sk","description":"d","version":"1.0.0"}`];
  const file = (servers: string[]) =>
    `{"version":"1.0.0","meta":{"last_updated":"2026-01-01T00:00:00Z"},"data":{"servers":[${servers.join()}],"skills":[${skills.join()}]}}`;
  const elsewhere = JSON.stringify(aServer('io.acme/half')).replace('"The', `"${half} The`);
  const good = JSON.stringify(aServer('io.acme/kept'));

  it('are skipped individually, in whichever field they are', async () => {
    await service.rewrite('characters', { text: file([good, elsewhere, ...raw]) });
    await service.synced('characters');
    expect(await list('characters')).toEqual(['io.acme/kept@1.0.0']);
    expect((await service.get('/v1/sources/characters')).json).toMatchObject({
      sync: { status: 'complete', counts: { entries: 1, skipped: 6 } },
    });
  });
});

it(`${COUNT} servers in one file are synced and written only once`, async () => {
  const filler = { text: 'x'.repeat(2_500) };
  const servers = Array.from({ length: COUNT }, (_, index) =>
    aServer(`io.acme/s${index}`, '1.0.0', { filler }),
  );
  await service.rewrite('many', { servers });
  expect((await service.synced('many')).counts).toMatchObject({ entries: COUNT });
  const before = await rowMark();
  await service.synced('many');
  expect(await rowMark()).toBe(before);
});
