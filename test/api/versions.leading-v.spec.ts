import { beforeAll, describe, expect, it } from 'vitest';
import { encodeCursor } from '../../dist/http/lists.js';
import { aServer, aSkill } from '../support/documents.js';
import { cursorIn, versionsIn } from '../support/matchers.js';
import { aDocument, consumerAt, listAt, type Type, TYPES } from '../support/publishing.js';
import { aService } from '../support/service.js';

type Case = readonly [published: string, newestFirst: string];

/** In order of publication; results are newest first. */
const SEMVER: readonly Case[] = [
  ['v2.0.0 v10.0.0', 'v10.0.0 v2.0.0'],
  ['v10.0.0 v2.0.0', 'v10.0.0 v2.0.0'],
  ['v1.9.0 v1.10.0', 'v1.10.0 v1.9.0'],
  ['v2.0.0-rc.1 v1.9.0 v2.0.0', 'v2.0.0 v2.0.0-rc.1 v1.9.0'],
  ['1.0.0 v2.0.0', 'v2.0.0 1.0.0'],
  ['v1.0.0 v2.0.0 v1.5.0', 'v2.0.0 v1.5.0 v1.0.0'],
  ['1.0.0 v1.0.0', '1.0.0 v1.0.0'],
  ['v1.0.0 1.0.0', '1.0.0 v1.0.0'],
];
/** Some of these versions are ordered by time; a file publishes all its versions at once. */
const MIXED: readonly Case[] = [
  ['v1.0 v1.0.0 1.0', 'v1.0.0 1.0 v1.0'],
  ['v3.0.0 2024-05 v1', 'v3.0.0 v1 2024-05'],
];
const CASES = [...SEMVER, ...MIXED];

describe('versions with a leading v', () => {
  const service = aService()
    .source('file', {
      servers: SEMVER.flatMap(([published], index) =>
        published.split(' ').map((version) => aServer(`io.acme/file-${index}`, version)),
      ),
      skills: SEMVER.flatMap(([published], index) =>
        published.split(' ').map((version) => aSkill(`io.acme/file-${index}`, version)),
      ),
    })
    .source('published', { kind: 'managed' })
    .registry('file', { sources: ['file'] })
    .registry('published', { sources: ['published'] })
    .runs();

  /** Newest first, and the latest version by name, in the list and with `version=latest`. */
  async function shown(registry: string, type: Type, name: string): Promise<object> {
    const versions = async (path: string) => {
      const { servers, skills = servers } = (await service.get(path)).json as {
        servers?: { server: { version: string } }[];
        skills?: ({ version: string } | { server: { version: string } })[];
      };
      return (skills ?? []).map((item) => ('server' in item ? item.server.version : item.version)).join(' ');
    };
    const one = (await service.get(consumerAt(type, name, '/versions/latest', registry))).json as {
      version?: string;
      server?: { version: string };
    };
    return {
      versions: await versions(consumerAt(type, name, '/versions', registry)),
      latest: one.version ?? one.server?.version,
      listed: await versions(`${listAt(type, registry)}?version=latest&search=${name.split('/')[1]}&limit=1`),
    };
  }

  it.each(TYPES)('of %ss of a file are ordered as semver', async (type) => {
    for (const [index, [, versions]] of SEMVER.entries()) {
      const latest = versions.split(' ')[0];
      expect(await shown('file', type, `io.acme/file-${index}`)).toEqual({
        versions,
        latest,
        listed: latest,
      });
    }
  });

  it.each(TYPES.flatMap((type) => CASES.map(([published, newest]) => [type, published, newest] as const)))(
    'of a %s published as %s are, newest first, %s',
    async (type, published, versions) => {
      const name = `io.acme/${published.replaceAll(/[^a-z0-9]/g, '-')}`;
      for (const version of published.split(' ')) {
        const reply = await service.post('/v1/entries', { [type]: aDocument(type, name, version) });
        expect([version, reply.status]).toEqual([version, 201]);
      }
      const latest = versions.split(' ')[0];
      expect(await shown('published', type, name)).toEqual({ versions, latest, listed: latest });
    },
  );
});

describe('a cursor from before a leading v counted as semver', () => {
  const VERSIONS = ['v10.0.0', '3.0.0', 'v2.0.0', 'v1.0.0', '1.0.0-rc.1', 'nightly'];
  const service = aService()
    .source('main', {
      servers: [...VERSIONS.map((version) => aServer('io.acme/b', version)), aServer('io.acme/c')],
    })
    .registry('main', { sources: ['main'] })
    .runs();
  let publishedAt: number;
  beforeAll(async () => {
    const [row] = await service.database.query<{ at: Date }>(
      'select max(published_at) as at from entry_version',
    );
    publishedAt = row?.at.getTime() ?? 0;
  });
  const keyOf = (version: string) => `0${String(publishedAt).padStart(16, '0')} ${version}`;

  it.each([
    ['v10.0.0', VERSIONS.slice(1)],
    ['v2.0.0', VERSIONS.slice(3)],
    ['v1.0.0', VERSIONS.slice(4)],
    ['nightly', []],
  ])('continues after %s', async (version, rest) => {
    const after = { name: 'io.acme/b', key: keyOf(version) };
    const cursor = encodeCursor('servers', { filter: {}, limit: 100, after });
    const page = await service.get(`${listAt('server')}?cursor=${cursor}`);
    expect(versionsIn(page)).toEqual([...rest.map((each) => `io.acme/b@${each}`), 'io.acme/c@1.0.0']);

    const state = { name: 'io.acme/b', includeDeleted: false, after: keyOf(version) };
    const ofName = `${consumerAt('server', 'io.acme/b', '/versions')}?cursor=${encodeCursor('versions', state)}`;
    expect(versionsIn(await service.get(ofName))).toEqual(rest.map((each) => `io.acme/b@${each}`));
  });

  it('is followed by current cursors, to the end', async () => {
    const after = { name: 'io.acme/b', key: keyOf('v10.0.0') };
    let cursor: string | undefined = encodeCursor('servers', { filter: {}, limit: 2, after });
    const found: string[] = [];
    while (cursor !== undefined) {
      const page = await service.get(`${listAt('server')}?cursor=${cursor}`);
      found.push(...versionsIn(page));
      cursor = cursorIn(page);
    }
    expect(found).toEqual([...VERSIONS.slice(1).map((each) => `io.acme/b@${each}`), 'io.acme/c@1.0.0']);
  });
});
