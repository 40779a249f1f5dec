import { beforeEach, describe, expect, it } from 'vitest';
import { aServer, aSkill } from '../support/documents.js';
import { versionsIn } from '../support/matchers.js';
import { aMirror } from '../support/mirror.js';
import { OFFICIAL } from '../support/upstream-registry.js';

const { upstream, mirror, forget } = aMirror();

const list = async (query = '') =>
  versionsIn(await mirror.get(`/registry/main/v0.1/servers?limit=100${query}`));
const official = async (name: string, version = '1.0.0') => {
  const reply = await mirror.get(
    `/registry/main/v0.1/servers/${encodeURIComponent(name)}/versions/${version}?include_deleted=true`,
  );
  return (reply.json as { _meta: Record<string, Record<string, unknown>> })._meta[OFFICIAL];
};

/** Moves the last run this long into the past. */
const ago = (ms: number) =>
  mirror.database.query(
    `update source_sync set fetch_state = jsonb_build_object('rules', fetch_state->'rules', 'state',
       fetch_state->'state' || jsonb_build_object(
         'roundAt', (fetch_state->'state'->>'roundAt')::float8 - $1::float8,
         'readAt', (fetch_state->'state'->>'readAt')::float8 - $1::float8,
         'settledAt', (fetch_state->'state'->>'settledAt')::float8 - $1::float8))`,
    [ms],
  );
const MINUTE = 60_000;
const longAgo = { updatedAt: '2026-01-01T00:00:00Z' };

beforeEach(async () => {
  upstream.reset();
  await forget();
});

describe('a manual sync', () => {
  const ask = async () => expect((await mirror.post('/v1/sources/main/sync')).status).toBe(202);

  it('reads everything and so detects removals immediately', async () => {
    upstream.put([aServer('io.acme/stays'), aServer('io.acme/goes')], longAgo);
    await mirror.synced('main');
    upstream.remove('io.acme/goes', '1.0.0').pages();
    await mirror.synced('main');
    expect(upstream.pages().map(({ query }) => query.has('updated_since'))).toEqual([true]);
    expect(await list()).toEqual(['io.acme/goes@1.0.0', 'io.acme/stays@1.0.0']);
    await ask();
    await expect.poll(() => list()).toEqual(['io.acme/stays@1.0.0']);
    expect(upstream.pages().map(({ query }) => query.has('updated_since'))).toEqual([false]);
    await mirror.synced('main');
    expect(upstream.pages().map(({ query }) => query.has('updated_since'))).toEqual([true]);
  });

  it('still reads everything after its first run fails', async () => {
    upstream.put([aServer('io.acme/stays'), aServer('io.acme/goes')], longAgo);
    await mirror.synced('main');
    upstream.remove('io.acme/goes', '1.0.0').fails(1, { status: 401 }).pages();
    await ask();
    await expect
      .poll(async () => (await mirror.get('/v1/sources/main')).json)
      .toMatchObject({ sync: { status: 'failed' } });
    upstream.recovers();
    await mirror.synced('main');
    expect(await list()).toEqual(['io.acme/stays@1.0.0']);
  });
});

it('fails on a page over 16 MiB and keeps the earlier entries', async () => {
  upstream.put([aServer('io.acme/stays')]);
  await mirror.synced('main');
  const before = await list();
  upstream.fails(1, { padding: 17 * 1024 * 1024 });
  const report = await mirror.synced('main');
  expect(report.status).toBe('failed');
  expect(report.error).toMatch(/larger than 16 MiB/);
  expect(await list()).toEqual(before);
});

describe('upstream metadata of a version', () => {
  it('is mirrored and updated even when the document is unchanged', async () => {
    const said = {
      status: 'deprecated',
      statusMessage: 'Use io.acme/new',
      publishedAt: '2025-03-04T05:06:07.891234Z',
      statusChangedAt: '2025-04-05T06:07:08Z',
    };
    upstream.put([aServer('io.acme/said')], said).put([aServer('io.acme/plain')]);
    await mirror.synced('main');
    expect(await official('io.acme/said')).toMatchObject({
      ...said,
      publishedAt: '2025-03-04T05:06:07.891Z',
      statusChangedAt: '2025-04-05T06:07:08.000Z',
    });
    upstream.put([aServer('io.acme/said')], { ...said, statusMessage: 'Use\n\u202eio.acme\0/new' });
    await mirror.synced('main');
    expect(await official('io.acme/said')).toMatchObject({ statusMessage: 'Use\n\ufffdio.acme\ufffd/new' });
    upstream.put([aServer('io.acme/said')], { status: 'deleted' });
    expect((await mirror.synced('main')).counts).toMatchObject({
      changed: 1,
      added: 0,
      removed: 0,
      entries: 2,
    });
    expect(await official('io.acme/said')).toMatchObject({ status: 'deleted' });
    expect(await official('io.acme/said')).not.toHaveProperty('statusMessage');
    expect(await list()).toEqual(['io.acme/plain@1.0.0']);
    expect(await list('&include_deleted=true')).toEqual(['io.acme/plain@1.0.0', 'io.acme/said@1.0.0']);
  });

  it('orders non-semver versions by upstream publication time', async () => {
    upstream
      .put([aServer('io.acme/builds', 'b')], { publishedAt: '2025-01-02T00:00:00Z' })
      .put([aServer('io.acme/builds', 'a')], { publishedAt: '2025-01-03T00:00:00Z' });
    await mirror.synced('main');
    expect(await list()).toEqual(['io.acme/builds@a', 'io.acme/builds@b']);
    upstream.put([aServer('io.acme/builds', 'b')], { publishedAt: '2025-01-04T00:00:00Z' });
    await mirror.synced('main');
    expect(await list()).toEqual(['io.acme/builds@b', 'io.acme/builds@a']);
    expect(await official('io.acme/builds', 'latest')).toMatchObject({ isLatest: true });
  });

  it('causes no write when unchanged', async () => {
    upstream.put([aServer('io.acme/same')], { status: 'deprecated', statusMessage: 'Old' });
    await mirror.synced('main');
    const before = await mirror.database.query(`select xmin, ctid from entry_version`);
    await forget();
    expect((await mirror.synced('main')).counts).toMatchObject({ unchanged: 1, changed: 0 });
    expect(await mirror.database.query(`select xmin, ctid from entry_version`)).toEqual(before);
  });

  it('with an unknown status makes the version skipped', async () => {
    upstream.put([aServer('io.acme/odd')], { status: 'resting' }).put([aServer('io.acme/good')]);
    const { skipped } = await mirror.synced('main');
    expect(skipped).toMatchObject([{ name: 'io.acme/odd', version: '1.0.0' }]);
    expect(skipped[0]?.reasons.join()).toMatch(/status: must be one of active, deprecated, deleted/);
    expect(await list()).toEqual(['io.acme/good@1.0.0']);
  });
});

describe('upstream documents', () => {
  it('keep their exact JSON, are validated, and are skipped individually when invalid', async () => {
    const precise =
      '{"name":"io.acme/precise","description":"d","version":"1.0.0","n":12345678901234567890.10}';
    const twice = '{"name":"io.acme/twice","description":"d","description":"e","version":"1.0.0"}';
    upstream.habits = {
      text: () =>
        `{"servers":[{"server":${precise}},{"server":${twice}},{"server":{"name":"io.acme/bad"}},` +
        `{"name":"io.acme/bare","version":"1.0.0"},{"server":${precise.replace('precise', 'odd')},"server":{}}]}`,
    };
    const { skipped, counts } = await mirror.synced('main');
    const { text } = await mirror.get('/registry/main/v0.1/servers/io.acme%2Fprecise/versions/latest');
    expect(text).toContain(precise);
    expect(counts).toMatchObject({ entries: 1, skipped: 4 });
    const reasons = skipped.map((entry) => entry.reasons[0]);
    expect(reasons).toEqual([
      'server.description: the key is given twice in one object',
      'description: is required',
      'server: must be an object',
      'server: the key is given twice in one object',
    ]);
  });

  it('that become invalid are withdrawn by an incremental run and reported until valid', async () => {
    const bad = { ...aServer('io.acme/turns'), description: '' };
    upstream.put([aServer('io.acme/turns'), aServer('io.acme/stays')]);
    upstream.put([{ ...aServer('io.acme/never'), description: '' }], longAgo);
    await mirror.synced('main');
    upstream.put([bad]);
    const report = await mirror.synced('main');
    expect(report.counts).toMatchObject({ removed: 1, entries: 1, skipped: 2 });
    expect(report.skipped.map(({ name }) => name)).toEqual(['io.acme/never', 'io.acme/turns']);
    expect(await list()).toEqual(['io.acme/stays@1.0.0']);
    upstream.put([aServer('io.acme/turns')]);
    expect((await mirror.synced('main')).skipped.map(({ name }) => name)).toEqual(['io.acme/never']);
    expect(await list()).toEqual(['io.acme/stays@1.0.0', 'io.acme/turns@1.0.0']);
  });
});

describe('incremental sync', () => {
  it('requests updated_since the last run and writes nothing without changes', async () => {
    upstream.put([aServer('io.acme/a'), aServer('io.acme/b')], longAgo);
    const began = Date.now();
    await mirror.synced('main');
    expect(upstream.pages()[0]?.query.get('include_deleted')).toBe('true');
    expect(await mirror.synced('main')).toMatchObject({ status: 'complete', counts: { added: 2 } });
    const [asked, ...more] = upstream.pages();
    expect(more).toEqual([]);
    expect(Date.parse(String(asked?.query.get('updated_since')))).toBeGreaterThan(began - MINUTE);
  });

  it('overlaps the last run by five minutes, once ten have passed, to catch late commits', async () => {
    upstream.put([aServer('io.acme/early')], longAgo);
    await mirror.synced('main');
    await ago(11 * MINUTE);
    const late = new Date(Date.now() - 14 * MINUTE).toISOString();
    upstream.put([aServer('io.acme/late')], { updatedAt: late });
    await mirror.synced('main');
    expect(await list()).toEqual(['io.acme/early@1.0.0', 'io.acme/late@1.0.0']);
  });

  it('does not detect removals: a full read does, at most six hours later', async () => {
    upstream.put([aServer('io.acme/stays'), aServer('io.acme/goes')], longAgo);
    await mirror.synced('main');
    upstream.remove('io.acme/goes', '1.0.0');
    await mirror.synced('main');
    expect(await list()).toEqual(['io.acme/goes@1.0.0', 'io.acme/stays@1.0.0']);
    // The next run is due within 66 minutes.
    await ago((6 * 60 - 67) * MINUTE);
    await mirror.synced('main');
    expect(await list()).toEqual(['io.acme/goes@1.0.0', 'io.acme/stays@1.0.0']);
    await ago(2 * MINUTE);
    expect((await mirror.synced('main')).counts).toMatchObject({ removed: 1, entries: 1 });
    expect(await list()).toEqual(['io.acme/stays@1.0.0']);
  });
});

describe('an upstream with fewer features', () => {
  it.each([
    ['ignores updated_since', { updatedSince: 'ignored' }],
    ['refuses updated_since', { updatedSince: 'refused' }],
    ['ignores updated_since and include_deleted', { updatedSince: 'ignored', includeDeleted: 'ignored' }],
    ['refuses both', { updatedSince: 'refused', includeDeleted: 'refused' }],
    ['omits _meta', { meta: 'absent' }],
    ['leaves _meta empty', { meta: 'empty' }],
    ['uses next_cursor', { cursorKey: 'next_cursor', perPage: 1 }],
  ] as const)('that %s is mirrored', async (_what, habits) => {
    upstream.habits = habits;
    upstream.put([aServer('io.acme/a'), aServer('io.acme/b'), aServer('io.acme/c')], longAgo);
    await mirror.synced('main');
    expect(await list()).toEqual(['io.acme/a@1.0.0', 'io.acme/b@1.0.0', 'io.acme/c@1.0.0']);
    upstream.put([aServer('io.acme/a', '2.0.0')]).remove('io.acme/b', '1.0.0');
    await mirror.synced('main');
    await mirror.synced('main');
    const kept = 'cursorKey' in habits ? ['io.acme/b@1.0.0'] : [];
    expect(await list()).toEqual(['io.acme/a@2.0.0', 'io.acme/a@1.0.0', ...kept, 'io.acme/c@1.0.0']);
  });
});

describe('upstream skills', () => {
  const skill = async (version: string) =>
    (await mirror.get(`/registry/main/v0.1/x/dev.toolhive/skills/io.acme/sk/versions/${version}`)).json;
  const v1 = aSkill('io.acme/sk', '1.0.0');
  const v2 = aSkill('io.acme/sk', '2.0.0');

  it('are mirrored with all versions, updated and removed', async () => {
    upstream.put([aServer('io.acme/a')], longAgo);
    upstream.skills = [[v2, v1]];
    await mirror.synced('main');
    expect(await skill('latest')).toEqual(v2);
    expect(await skill('1.0.0')).toEqual(v1);
    await mirror.synced('main');
    upstream.pages();
    await mirror.synced('main');
    expect(upstream.requests.map(({ path }) => path)).toHaveLength(2);
    upstream.skills = [[aSkill('io.acme/sk', '3.0.0'), v2]];
    await mirror.synced('main');
    expect(await skill('latest')).toMatchObject({ version: '3.0.0' });
    expect(await skill('1.0.0')).toMatchObject({ code: 'version_not_found' });
    upstream.skills = null;
    await mirror.synced('main');
    expect(await skill('latest')).toMatchObject({ code: 'entry_not_found' });
    expect(await list()).toEqual(['io.acme/a@1.0.0']);
  });
});
