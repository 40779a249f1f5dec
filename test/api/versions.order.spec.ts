import { compareBuild, parse } from 'semver';
import { describe, expect, it } from 'vitest';
import { versionKey } from '../../dist/documents/versions.js';
import { aServer } from '../support/documents.js';
import { aService } from '../support/service.js';
import { inSoak } from '../support/soak.js';
import { REAL_VERSIONS } from '../support/versions.js';

interface Item {
  server: { version: string };
  _meta: { 'io.modelcontextprotocol.registry/official': { publishedAt: string; isLatest: boolean } };
}

const key = (version: string, publishedAt: Date | string) =>
  Buffer.from(versionKey(version, new Date(publishedAt)));
const early = REAL_VERSIONS.filter((_version, index) => index % 2 === 1);

// Each of these servers takes versions from the whole range.
const chosen = Array.from({ length: 50 }, (_, server) =>
  [0, 61, 118, 173].map((step) => REAL_VERSIONS[(server * 4 + step) % REAL_VERSIONS.length] ?? ''),
);

const service = aService()
  .source('many', { servers: early.map((version) => aServer('io.acme/many', version)) })
  .source('few', {
    servers: chosen.flatMap((versions, index) =>
      versions.map((version) => aServer(`io.acme/s${index}`, version)),
    ),
  })
  .source('tools', { kind: 'managed' })
  .registry('many', { sources: ['many'] })
  .registry('few', { sources: ['few'] })
  .registry('main', { sources: ['tools'] })
  .runs();

describe('one server with 200 versions, published on two occasions', () => {
  const all = REAL_VERSIONS.map((version) => aServer('io.acme/many', version));

  it('has the same version order in TypeScript, in SQL and over the API', async () => {
    await service.rewrite('many', { servers: all });
    expect((await service.synced('many')).counts).toMatchObject({ entries: all.length, skipped: 0 });
    const rows = await service.database.query<{ version: string; published_at: Date; is_latest: boolean }>(
      `select v.version, v.published_at, v.is_latest from entry_version v join entry e on e.id = v.entry_id
       where e.name = 'io.acme/many' order by v.version_key desc`,
    );
    expect(new Set(rows.map((row) => row.published_at.getTime())).size).toBe(2);
    const inTypeScript = [...rows]
      .sort((one, other) =>
        key(other.version, other.published_at).compare(key(one.version, one.published_at)),
      )
      .map(({ version }) => version);
    expect(rows.map(({ version }) => version)).toEqual(inTypeScript);

    const reply = await service.get('/registry/many/v0.1/servers/io.acme%2Fmany/versions');
    const { servers } = reply.json as unknown as { servers: Item[] };
    expect(servers.map(({ server }) => server.version)).toEqual(inTypeScript);
    const latest = servers.filter((item) => item._meta['io.modelcontextprotocol.registry/official'].isLatest);
    expect(latest.map(({ server }) => server.version)).toEqual(inTypeScript.slice(0, 1));
  });

  it('has keys that the database compares bytewise', async () => {
    const at = new Date('2026-01-01T00:00:00Z');
    const keys = REAL_VERSIONS.map((version, index) =>
      versionKey(version, new Date(at.getTime() + (index % 7))),
    );
    const rows = await service.database.query<{ key: string }>(
      `select k as key from unnest($1::text[]) k order by k collate "C"`,
      [keys],
    );
    const inTypeScript = [...keys].sort((one, other) => Buffer.from(one).compare(Buffer.from(other)));
    expect(rows.map((row) => row.key)).toEqual(inTypeScript);
  });
});

describe('servers with a few versions each', () => {
  it('have the highest version as their latest', async () => {
    const reply = await service.get('/registry/few/v0.1/servers?version=latest&limit=100');
    const { servers: found } = reply.json as unknown as { servers: (Item & { server: { name: string } })[] };
    const latest = new Map(found.map(({ server }) => [server.name, server.version]));
    const at = new Date();
    for (const [index, versions] of chosen.entries()) {
      const [highest] = [...versions].sort((one, other) => key(other, at).compare(key(one, at)));
      expect([versions, latest.get(`io.acme/s${index}`)]).toEqual([versions, highest]);
    }
  });
});

/** Some of every kind; src/documents/versions.spec.ts compares all pairs. */
const SOME = REAL_VERSIONS.filter((_version, index) => index % inSoak(1, 8) === 0);

describe(`one server whose ${SOME.length} versions are published one after another, in shuffled order`, () => {
  // Uses the semver library, not our keys: the highest semver version, or else the last one published.
  const latestOf = (published: readonly string[]) => {
    const semvers = published.filter(isSemver);
    return semvers.length === 0
      ? published.at(-1)
      : semvers.reduce((highest, version) => (compareVersions(version, highest) > 0 ? version : highest));
  };

  it.each([
    ['semver last', (version: string) => (isSemver(version) ? 1 : 0)],
    ['all mixed', () => 0],
  ])(
    'has the latest version that semver demands after each publication, over the API and in SQL: %s',
    async (what, rank) => {
      const name = `io.acme/${what.replace(' ', '-')}`;
      const path = `/registry/main/v0.1/servers/${encodeURIComponent(name)}/versions`;
      const published: string[] = [];
      for (const version of shuffled(SOME).sort((one, other) => rank(one) - rank(other))) {
        const reply = await service.post('/v1/entries', { server: aServer(name, version) });
        expect([version, reply.status]).toEqual([version, 201]);
        published.push(version);
        const { server } = (await service.get(`${path}/latest`)).json as Item;
        const inSql = await service.database.query<{ version: string }>(
          `select v.version from entry_version v join entry e on e.id = v.entry_id where e.name = $1 and v.is_latest`,
          [name],
        );
        const expected = latestOf(published);
        expect({ version, latest: server.version, inSql }).toEqual({
          version,
          latest: expected,
          inSql: [{ version: expected }],
        });
        const { isLatest } = (reply.json as Item)._meta['io.modelcontextprotocol.registry/official'];
        expect([version, isLatest]).toEqual([version, version === expected]);
      }
      expect(published).toHaveLength(SOME.length);

      const { servers } = (await service.get(path)).json as { servers: Item[] };
      const listed = servers.map((item) => item.server.version);
      const others = published.filter((version) => !isSemver(version));
      expect(listed.filter((version) => !isSemver(version))).toEqual(others.reverse());
      const semvers = listed.slice(0, published.length - others.length);
      expect(semvers.every(isSemver)).toBe(true);
      for (const [index, version] of semvers.slice(1).entries())
        expect(compareVersions(semvers[index] ?? '', version)).toBeGreaterThanOrEqual(0);
    },
  );
});

describe('a server with deleted versions', () => {
  const path = '/v1/entries/server/io.acme%2Fdeleted';
  const statusOf = (version: string, status: string) =>
    service.patch(`${path}/versions/${version}/status`, { status });
  const latest = async () => {
    const { versions } = (await service.get(path)).json as {
      versions: { version: string; isLatest: boolean }[];
    };
    return versions.filter(({ isLatest }) => isLatest).map(({ version }) => version);
  };

  it('has the newest version that is not deleted as its latest, or else the newest', async () => {
    for (const version of ['1.0.0', '3.0.0', '2.0.0'])
      await service.post('/v1/entries', { server: aServer('io.acme/deleted', version) });
    expect(await latest()).toEqual(['3.0.0']);
    await statusOf('3.0.0', 'deleted');
    expect(await latest()).toEqual(['2.0.0']);
    await statusOf('2.0.0', 'deleted');
    expect(await latest()).toEqual(['1.0.0']);
    await statusOf('1.0.0', 'deleted');
    expect(await latest()).toEqual(['3.0.0']);
    await statusOf('2.0.0', 'deprecated');
    expect(await latest()).toEqual(['2.0.0']);
  });
});

// The library also accepts surrounding white space.
function isSemver(version: string): boolean {
  return /^v?\d/.test(version) && parse(version) !== null;
}

// reference/catalog: of two equal versions, the one without `v` is newer.
function compareVersions(one: string, other: string): number {
  return compareBuild(one, other) || Number(other.startsWith('v')) - Number(one.startsWith('v'));
}

/** Returns a deterministic shuffle. */
function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item, index) => ({ item, place: (index * 7_919 + 101) % 10_007 }))
    .sort((one, other) => one.place - other.place)
    .map(({ item }) => item);
}
