import { beforeAll, describe, expect, it } from 'vitest';
import { aServer } from '../support/documents.js';
import { aService } from '../support/service.js';
import { anUpstreamRegistry, OFFICIAL } from '../support/upstream-registry.js';

const upstream = anUpstreamRegistry().runs();
/** More rows than one write statement holds. */
const MANY = 1_100;
const service = aService();
beforeAll(() => {
  service.source('mirror', { kind: 'api', settings: { endpoint: upstream.url } }).source('file', {
    servers: [
      aServer('io.acme/first-of-many', '1.0.0'),
      aServer('io.acme/last-of-many', '2.0.0'),
      ...Array.from({ length: MANY }, (_, index) => aServer(`io.acme/many-${index}`)),
      aServer('io.acme/first-of-many', '2.0.0'),
      aServer('io.acme/last-of-many', '1.0.0'),
    ],
  });
  for (const [name, older, newer] of [
    ['withdrawn-last', 'active', 'deleted'],
    ['withdrawn-first', 'deleted', 'active'],
    ['withdrawn', 'deleted', 'deleted'],
    ['kept', 'active', 'deprecated'],
  ] as const)
    upstream
      .put([aServer(`io.acme/${name}`, '1.10.0')], { status: newer })
      .put([aServer(`io.acme/${name}`, '1.9.0')], { status: older });
});
service
  .registry('mirror', { sources: ['mirror'] })
  .registry('file', { sources: ['file'] })
  .runs();

interface Item {
  server: { name: string; version: string };
  _meta: { [OFFICIAL]: { isLatest: boolean } };
}

/** The versions of a name that have isLatest. */
async function latestOf(registry: string, name: string): Promise<string[]> {
  const path = `/registry/${registry}/v0.1/servers/${encodeURIComponent(name)}/versions?include_deleted=true`;
  const { servers } = (await service.get(path)).json as { servers: Item[] };
  expect(servers).toHaveLength(2);
  return servers.filter((item) => item._meta[OFFICIAL].isLatest).map((item) => item.server.version);
}

describe('the first sync of a name with several versions', () => {
  it.each([
    ['withdrawn-last', '1.9.0'],
    ['withdrawn-first', '1.10.0'],
    ['withdrawn', '1.10.0'],
    ['kept', '1.10.0'],
  ])(
    'marks as latest the newest version that is not deleted, or else the newest: %s',
    async (name, latest) => {
      expect(await latestOf('mirror', `io.acme/${name}`)).toEqual([latest]);
    },
  );

  it.each(['first-of-many', 'last-of-many'])(
    'marks one latest, however far apart the versions are in the file: %s',
    async (name) => {
      expect(await latestOf('file', `io.acme/${name}`)).toEqual(['2.0.0']);
    },
  );
});
