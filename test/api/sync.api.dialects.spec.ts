import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { aServer, aSkill, type Document } from '../support/documents.js';
import { versionsIn } from '../support/matchers.js';
import { consumerAt, listAt } from '../support/publishing.js';
import { aService } from '../support/service.js';
import { anUpstreamRegistry, OFFICIAL, TOOLHIVE } from '../support/upstream-registry.js';

const upstream = anUpstreamRegistry().runs();
const mirror = aService();
beforeAll(() => {
  const api = { kind: 'api', settings: { endpoint: upstream.url } } as const;
  mirror
    .source('main', api)
    .source('filtered', { ...api, filter: { names: { exclude: ['io.acme/none-*'] } } });
  upstream.put([aServer('io.acme/first')]);
});
mirror.registry('main', { sources: ['main'] }).runs();
beforeEach(async () => {
  upstream.reset().put([aServer('io.acme/first')]);
  await mirror.database.query(`update source_sync set fetch_state = null where next_run_at is not null`);
});

/** Versions of a skill, newest first, as the consumer API returns them. */
async function versionsOf(name: string): Promise<string[]> {
  const reply = await mirror.get(consumerAt('skill', name, '/versions'));
  if (reply.status !== 200) return [`${reply.status}`];
  const { skills } = reply.json as { skills: { version: string; status?: string }[] };
  return skills.map(({ version, status }) => `${version} ${status}`);
}
const skillsListed = async (query = '') =>
  ((await mirror.get(`${listAt('skill')}${query}`)).json as { skills: Document[] }).skills.map(
    ({ name }) => name,
  );
const several = (name: string, ...versions: string[]) =>
  versions.map((version) => aSkill(name, version, { status: 'ACTIVE' }));

describe('a ToolHive registry', () => {
  it('has skills whose statuses are upper case', async () => {
    upstream.habits = TOOLHIVE;
    upstream.skills = [
      [aSkill('io.acme/active', '1.0.0', { status: 'ACTIVE' })],
      [aSkill('io.acme/archived', '1.0.0', { status: 'ARCHIVED' })],
      [aSkill('io.acme/deprecated', '1.0.0', { status: 'Deprecated' })],
      [aSkill('io.acme/plain', '1.0.0')],
    ];
    const { counts, skipped } = await mirror.synced('main');
    expect({ counts, skipped }).toMatchObject({ counts: { entries: 5, skipped: 0 }, skipped: [] });
    expect(await skillsListed()).toEqual(['active', 'archived', 'deprecated', 'plain']);
    for (const status of ['active', 'archived', 'deprecated']) {
      expect(await skillsListed(`?status=${status}`)).toContain(status);
      // The skill schema spells statuses in lower case.
      expect((await mirror.get(consumerAt('skill', `io.acme/${status}`))).json).toMatchObject({ status });
    }
  });

  it('has skills that are otherwise mirrored unchanged', async () => {
    const odd =
      '{"namespace":"io.acme","status":"ACTIVE","name":"odd","n":1.50e3,"metadata":{"status":"ACTIVE"},';
    const rest = '"description":"d\\u00e4","version":"1.0.0"}';
    upstream.habits = { ...TOOLHIVE, skillsText: `{"skills":[${odd}${rest}],"metadata":{"count":1}}` };
    upstream.skills = [];
    await mirror.synced('main');
    const { text } = await mirror.get(consumerAt('skill', 'io.acme/odd'));
    expect(text).toBe(odd.replace('ACTIVE', 'active') + rest);
  });

  it('lists every version of a skill, each fetched and counted once', async () => {
    upstream.habits = { ...TOOLHIVE, perPage: 50 };
    const many = Array.from({ length: 40 }, (_, index) => `1.${index}.0`);
    upstream.skills = [
      several('io.acme/two', 'v1.9.0', 'v1.10.0'),
      several('io.acme/one', '1.0.0'),
      several('io.acme/many', ...many),
    ];
    const { counts } = await mirror.synced('main');
    expect(counts).toMatchObject({ entries: 44, added: 43, skipped: 0, filtered: 0 });
    expect(await versionsOf('io.acme/two')).toEqual(['v1.10.0 active', 'v1.9.0 active']);
    expect(await versionsOf('io.acme/many')).toHaveLength(40);
    expect(await skillsListed()).toEqual(['many', 'one', 'two']);
    expect(upstream.skillPaths()).toEqual(['skills']);
  });

  it('counts an invalid or filtered skill once', async () => {
    upstream.habits = TOOLHIVE;
    upstream.skills = [
      several('io.acme/two', '1.0.0', '2.0.0'),
      several('io.acme/none-1', '1.0.0', '2.0.0'),
      [aSkill('io.acme/sleeps', '1.0.0', { status: 'SLEEPING' })],
    ];
    const { counts, skipped } = await mirror.synced('filtered');
    expect(counts).toMatchObject({ entries: 3, skipped: 1, filtered: 2 });
    expect(skipped.map(({ name }) => name)).toEqual(['sleeps']);
  });

  it('sends servers without metadata, which are mirrored', async () => {
    upstream.habits = TOOLHIVE;
    upstream.put([aServer('io.acme/a', 'v1.9.0'), aServer('io.acme/a', 'v1.10.0')]);
    await mirror.synced('main');
    expect(versionsIn(await mirror.get(listAt('server')))).toEqual([
      'io.acme/a@v1.10.0',
      'io.acme/a@v1.9.0',
      'io.acme/first@1.0.0',
    ]);
  });
});

describe('another instance of this server, whose skill list shows only latest versions', () => {
  it('is queried for further versions once per skill, and each version is counted once', async () => {
    upstream.skills = [
      [aSkill('io.acme/none-1', '2.0.0'), aSkill('io.acme/none-1', '1.0.0')],
      [aSkill('io.acme/three', '3.0.0'), aSkill('io.acme/three', '2.0.0'), aSkill('io.acme/three', '1.0.0')],
      [aSkill('io.acme/bad', '2.0.0', { description: '' }), aSkill('io.acme/bad', '1.0.0')],
    ];
    const { counts, skipped } = await mirror.synced('filtered');
    expect(counts).toMatchObject({ entries: 5, skipped: 1, filtered: 2 });
    expect(skipped.map(({ name, version }) => `${name} ${version}`)).toEqual(['bad 2.0.0']);
    expect(upstream.skillPaths()).toEqual([
      'skills',
      'skills/io.acme/none-1/versions',
      'skills/io.acme/three/versions',
      'skills/io.acme/bad/versions',
    ]);
  });
});

describe('the official registry', () => {
  it.each(['ACTIVE', 'Active', 'active'])('may spell a status in any letter case: %s', async (status) => {
    upstream
      .put([aServer('io.acme/one')], { status })
      .put([aServer('io.acme/two')], { status: 'DEPRECATED', statusMessage: 'Use io.acme/one' })
      .put([aServer('io.acme/three')], { status: 'Deleted' });
    const { counts } = await mirror.synced('main');
    expect(counts).toMatchObject({ entries: 4, skipped: 0 });
    const listed = await mirror.get(`${listAt('server')}?include_deleted=true`);
    const { servers } = listed.json as { servers: { _meta: { [OFFICIAL]: { status: string } } }[] };
    expect(servers.map(({ _meta }) => _meta[OFFICIAL].status)).toEqual([
      'active',
      'active',
      'deleted',
      'deprecated',
    ]);
    expect(versionsIn(await mirror.get(listAt('server')))).toHaveLength(3);
  });
});
