import { describe, expect, it } from 'vitest';
import { versionKey } from '../../dist/entries/version-order.js';
import { aServer } from '../support/documents.js';
import { aService } from '../support/service.js';
import { REAL_VERSIONS } from '../support/versions.js';

interface Item {
  server: { version: string };
  _meta: { 'io.modelcontextprotocol.registry/official': { publishedAt: string; isLatest: boolean } };
}

const key = (version: string, publishedAt: Date | string) =>
  Buffer.from(versionKey(version, new Date(publishedAt)));
const early = REAL_VERSIONS.filter((_version, index) => index % 2 === 1);

describe('one server with 200 versions, published on two occasions', () => {
  const all = REAL_VERSIONS.map((version) => aServer('io.acme/many', version));
  const service = aService()
    .source('main', { servers: early.map((version) => aServer('io.acme/many', version)) })
    .registry('main', { sources: ['main'] })
    .runs();

  it('has them in the same order in TypeScript, in SQL and over the API', async () => {
    await service.rewrite('main', { servers: all });
    expect((await service.synced('main')).counts).toMatchObject({ entries: all.length, skipped: 0 });
    const rows = await service.database.query<{ version: string; published_at: Date; is_latest: boolean }>(
      `select version, published_at, is_latest from entry_version order by version_key desc`,
    );
    expect(new Set(rows.map((row) => row.published_at.getTime())).size).toBe(2);
    const inTypeScript = [...rows]
      .sort((one, other) =>
        key(other.version, other.published_at).compare(key(one.version, one.published_at)),
      )
      .map(({ version }) => version);
    expect(rows.map(({ version }) => version)).toEqual(inTypeScript);

    const reply = await service.get('/registry/main/v0.1/servers/io.acme%2Fmany/versions');
    const { servers } = reply.json as unknown as { servers: Item[] };
    expect(servers.map(({ server }) => server.version)).toEqual(inTypeScript);
    const latest = servers.filter((item) => item._meta['io.modelcontextprotocol.registry/official'].isLatest);
    expect(latest.map(({ server }) => server.version)).toEqual(inTypeScript.slice(0, 1));
  });

  it('compares keys in the database by bytes, in whatever order they come', async () => {
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
  // Every server takes versions from all over the list.
  const chosen = Array.from({ length: 50 }, (_, server) =>
    [0, 61, 118, 173].map((step) => REAL_VERSIONS[(server * 4 + step) % REAL_VERSIONS.length] ?? ''),
  );
  const servers = chosen.flatMap((versions, index) =>
    versions.map((version) => aServer(`io.acme/s${index}`, version)),
  );
  const service = aService()
    .source('main', { servers })
    .registry('main', { sources: ['main'] })
    .runs();

  it('have the highest of them as their latest', async () => {
    const reply = await service.get('/registry/main/v0.1/servers?version=latest&limit=100');
    const { servers: found } = reply.json as unknown as { servers: (Item & { server: { name: string } })[] };
    const latest = new Map(found.map(({ server }) => [server.name, server.version]));
    const at = new Date();
    for (const [index, versions] of chosen.entries()) {
      const [highest] = [...versions].sort((one, other) => key(other, at).compare(key(one, at)));
      expect([versions, latest.get(`io.acme/s${index}`)]).toEqual([versions, highest]);
    }
  });
});
