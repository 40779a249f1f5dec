import { describe, expect, it } from 'vitest';
import { aServer, aSkill } from '../support/documents.js';
import { aMirror } from '../support/mirror.js';
import { aName, consumerAt, listAt, type Type } from '../support/publishing.js';
import { OFFICIAL } from '../support/upstream-registry.js';

const { upstream, mirror, forget } = aMirror();

const at = (day: number) => new Date(Date.UTC(2026, 0, day)).toISOString();

/** The versions, newest first, with `isLatest` marked by an asterisk, then the version that `latest` returns. */
async function shown(name: string): Promise<string> {
  const path = consumerAt('server', name, '/versions');
  const { servers } = (await mirror.get(`${path}?include_deleted=true`)).json as {
    servers: { server: { version: string }; _meta: { [OFFICIAL]: { isLatest: boolean } } }[];
  };
  const latest = (await mirror.get(`${path}/latest`)).json as { server?: { version: string }; code?: string };
  const versions = servers.map((item) => `${item.server.version}${item._meta[OFFICIAL].isLatest ? '*' : ''}`);
  return `${versions.join(' ')}, ${latest.server?.version ?? latest.code}`;
}

describe('the latest version of a mirrored server', () => {
  it("is upstream's isLatest, even when a back-port was published later", async () => {
    const [dated, semver] = [aName(), aName()];
    upstream
      .put([aServer(dated, '2026-01')], { publishedAt: at(1), isLatest: false })
      .put([aServer(dated, '2026-02')], { publishedAt: at(2), isLatest: true })
      .put([aServer(dated, '2026-01.1')], { publishedAt: at(3), isLatest: false })
      .put([aServer(semver, '2.0.0')], { publishedAt: at(1), isLatest: true })
      .put([aServer(semver, '1.9.1')], { publishedAt: at(2), isLatest: false })
      .put([aServer(semver, '3.0.0-rc.1')], { publishedAt: at(3), isLatest: false });
    await mirror.synced('main');
    expect(await shown(dated)).toBe('2026-02* 2026-01.1 2026-01, 2026-02');
    expect(await shown(semver)).toBe('2.0.0* 3.0.0-rc.1 1.9.1, 2.0.0');
    const list = await mirror.get(`${listAt('server')}?version=latest&limit=100`);
    expect(list.text).toContain('"version":"2026-02"');
    expect(list.text).not.toContain('"version":"2026-01.1"');
  });

  it('changes when an incremental run sees a new isLatest', async () => {
    const name = aName();
    const older = { updatedAt: at(1) };
    upstream
      .put([aServer(name, '1.0.0')], { isLatest: false, ...older })
      .put([aServer(name, '2.0.0')], { isLatest: true, ...older });
    await forget();
    await mirror.synced('main');
    expect(await shown(name)).toBe('2.0.0* 1.0.0, 2.0.0');
    // Losing isLatest is not an update of 2.0.0.
    upstream
      .put([aServer(name, '2.0.0')], { isLatest: false, ...older })
      .put([aServer(name, '1.5.0')], { isLatest: true });
    expect((await mirror.synced('main')).counts).toMatchObject({ added: 1, changed: 0 });
    expect(await shown(name)).toBe('1.5.0* 2.0.0 1.0.0, 1.5.0');
  });

  it('is never a deleted version while a non-deleted one exists', async () => {
    const name = aName();
    upstream
      .put([aServer(name, '1.0.0')], { isLatest: false })
      .put([aServer(name, '2.0.0')], { isLatest: true, status: 'deleted' });
    await mirror.synced('main');
    expect(await shown(name)).toBe('2.0.0 1.0.0*, 1.0.0');
    upstream.put([aServer(name, '1.0.0')], { isLatest: false, status: 'deleted' });
    await mirror.synced('main');
    expect(await shown(name)).toBe('2.0.0* 1.0.0, entry_not_found');
  });

  it('is the highest of several isLatest versions, or of all when there is none', async () => {
    const [all, none] = [aName(), aName()];
    for (const version of ['1.0.0', 'v3.0.0', '2.0.0']) {
      upstream.put([aServer(all, version)], { isLatest: true, updatedAt: at(1) });
      upstream.put([aServer(none, version)], { isLatest: false, updatedAt: at(1) });
    }
    await forget();
    await mirror.synced('main');
    expect(await shown(all)).toBe('v3.0.0* 2.0.0 1.0.0, v3.0.0');
    expect(await shown(none)).toBe('v3.0.0* 2.0.0 1.0.0, v3.0.0');
    // Upstream marks all versions as latest, so a change to one of them means nothing.
    upstream.put([aServer(all, '1.0.0', { title: 'Changed' })], { isLatest: true });
    await mirror.synced('main');
    expect(await shown(all)).toBe('v3.0.0* 2.0.0 1.0.0, v3.0.0');
  });

  it('moves without a change to the versions, and invalidates ETags', async () => {
    const name = aName();
    const say = (latest: string) => {
      for (const version of ['1.0.0', '2.0.0'])
        upstream.put([aServer(name, version)], { isLatest: version === latest, updatedAt: at(1) });
    };
    say('2.0.0');
    await forget();
    await mirror.synced('main');
    const path = consumerAt('server', name, '/versions/2.0.0');
    const before = await mirror.get(path);
    const known = { headers: { 'If-None-Match': String(before.headers['etag']) } };
    expect((await mirror.send('GET', path, known)).status).toBe(304);
    say('1.0.0');
    await forget();
    expect((await mirror.synced('main')).counts).toMatchObject({ added: 0, changed: 2, removed: 0 });
    expect(await shown(name)).toBe('1.0.0* 2.0.0, 1.0.0');
    const after = await mirror.send('GET', path, known);
    expect(after.status).toBe(200);
    const times = (reply: typeof before) =>
      (reply.json as { _meta: { [OFFICIAL]: { updatedAt: string } } })._meta[OFFICIAL].updatedAt;
    expect(times(after)).toBe(times(before));
    await forget();
    expect((await mirror.synced('main')).counts).toMatchObject({ changed: 0 });
  });
});

describe('the latest version of a mirrored skill', () => {
  it("is the version in upstream's skill list", async () => {
    const name = aName();
    upstream.skills = [[aSkill(name, '1.9.0'), aSkill(name, '2.0.0-rc.1'), aSkill(name, '1.8.0')]];
    await forget();
    await mirror.synced('main');
    const versions = async (type: Type) => {
      const { skills } = (await mirror.get(consumerAt(type, name, '/versions'))).json as {
        skills: { version: string }[];
      };
      return skills.map(({ version }) => version);
    };
    expect(await versions('skill')).toEqual(['1.9.0', '2.0.0-rc.1', '1.8.0']);
    expect((await mirror.get(consumerAt('skill', name))).json).toMatchObject({ version: '1.9.0' });
  });
});
