import { createHash, randomBytes } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENTITIES } from '../../dist/app/entities.js';
import { ContentFile, VersionContent } from '../../dist/content/content.entity.js';
import { ContentStore } from '../../dist/content/content-store.queries.js';
import type { IncomingFile } from '../../dist/content/content-tree.js';
import { createDataSource } from '../../dist/database/open-database.js';
import { aDatabase, type TestDatabase } from '../support/database.js';

const KIB = 1024;
const LIMITS = { fetchHosts: [], fetchAccounts: [], maxBytesPerVersion: 1_000 * KIB, maxBytes: 2_000 * KIB };

let database: TestDatabase;
let dataSource: DataSource;
let store: ContentStore;

beforeAll(async () => {
  database = await aDatabase();
  dataSource = await createDataSource(
    { ...database.connection, poolMax: 4 },
    ENTITIES,
    () => undefined,
  ).initialize();
  store = new ContentStore(
    dataSource,
    dataSource.getRepository(VersionContent),
    dataSource.getRepository(ContentFile),
    LIMITS,
  );
  await database.query(
    `insert into claim_set (claims, digest) values ('{}', '\\x00') on conflict do nothing`,
  );
  await database.query(
    `insert into source (name, kind, settings, claim_set_id, origin)
     select 'files', 'managed', '{}', min(id), 'api' from claim_set`,
  );
});

afterAll(async () => {
  await dataSource.destroy();
  await database.drop();
});

let versions = 0;

/** Adds a skill with one version and returns the id of the version. */
async function aVersion(): Promise<string> {
  versions += 1;
  const [row] = await database.query<{ id: string }>(
    `with e as (
       insert into entry (source_id, type, name, claim_set_id)
       select s.id, 'skill', 'io.acme/skill-' || $1::int, s.claim_set_id from source s returning id)
     insert into entry_version (entry_id, version, version_key, document, digest, search, status, status_changed_at,
       published_at, updated_at, is_latest)
     select id, '1.0.0', '1', '{}', '\\x00', '', 'active', now(), now(), now(), true from e returning id`,
    [versions],
  );
  return row?.id ?? '';
}

const remove = (id: string) => database.query('delete from entry_version where id = $1', [id]);

function aFile(path: string, data: Buffer, executable = false): IncomingFile {
  return {
    path,
    digest: createHash('sha256').update(data).digest('hex'),
    bytes: data.length,
    executable,
    open: async function* () {
      for (let at = 0; at < data.length; at += 100_001) yield data.subarray(at, at + 100_001);
    },
  };
}

const put = (id: string, files: readonly IncomingFile[], into = store) =>
  dataSource.transaction(async (manager) => {
    const tree = await into.write(manager, {
      files,
      members: {},
      pluginServers: { servers: [], untranslated: [] },
    });
    await manager.insert(VersionContent, { versionId: id, tree: tree.digest });
    return tree;
  });

async function bytesOf(digest: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of store.read(digest)) {
    expect(chunk.length).toBeLessThanOrEqual(256 * KIB);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function countOf(table: string): Promise<number> {
  const [row] = await database.query<{ count: number }>(`select count(*)::int as count from ${table}`);
  return row?.count ?? -1;
}

async function cleanUp(): Promise<void> {
  while ((await store.deleteUnused(2)) !== 0);
}

describe('the content store', () => {
  it.each([0, 1, 256 * KIB - 1, 256 * KIB, 256 * KIB + 1, 700 * KIB])(
    'returns a file of %d bytes unchanged',
    async (size) => {
      const id = await aVersion();
      const file = aFile('a', randomBytes(size));
      await put(id, [file]);
      const data = await bytesOf(file.digest);
      expect(createHash('sha256').update(data).digest('hex')).toBe(file.digest);
      await remove(id);
      await cleanUp();
    },
  );

  it('sorts the files of a tree by the bytes of their paths, and computes its digest from everything listed', async () => {
    const [a, b] = [Buffer.from('a'), Buffer.from('b')];
    const ids = [await aVersion(), await aVersion(), await aVersion(), await aVersion(), await aVersion()];
    const trees = [
      [aFile('é/x', a), aFile('Z', b), aFile('a', a)],
      [aFile('a', a), aFile('Z', b), aFile('é/x', a)],
      [aFile('a', a, true), aFile('Z', b), aFile('é/x', a)],
      [aFile('a', b), aFile('Z', b), aFile('é/x', a)],
      [aFile('b', a), aFile('Z', b), aFile('é/x', a)],
    ];
    const digests: string[] = [];
    for (const [index, files] of trees.entries()) digests.push((await put(ids[index] ?? '', files)).digest);
    const tree = await store.treeOf(ids[0] ?? '');
    expect(tree?.files.map(({ path }) => path)).toEqual(['Z', 'a', 'é/x']);
    expect(tree).toMatchObject({ bytes: 3, digest: digests[0] });
    expect(tree?.files[1]).toMatchObject({ executable: false, bytes: 1 });
    expect(digests[1]).toBe(digests[0]);
    expect(new Set(digests).size).toBe(4);
    expect(await countOf('content_blob')).toBe(2);
    for (const id of ids) await remove(id);
    await cleanUp();
  });

  it('keeps a file while a version has it, and deletes it afterwards', async () => {
    const [one, other] = [await aVersion(), await aVersion()];
    const shared = aFile('shared', Buffer.from('shared'));
    await put(one, [shared, aFile('own', Buffer.from('own'))]);
    await put(other, [shared]);
    await remove(one);
    await cleanUp();
    expect(await countOf('content_blob')).toBe(1);
    expect(await countOf('content_tree')).toBe(1);
    expect((await bytesOf(shared.digest)).toString()).toBe('shared');
    await remove(other);
    await cleanUp();
    for (const table of ['content_blob', 'content_chunk', 'content_tree', 'content_file', 'version_content'])
      expect(await countOf(table)).toBe(0);
    await expect(bytesOf(shared.digest)).rejects.toThrow('deleted while it was read');
  });

  it('refuses a version that is gone or has content, and leaves nothing behind', async () => {
    const id = await aVersion();
    await put(id, [aFile('a', Buffer.from('first'))]);
    const second = [aFile('a', Buffer.from('second'))];
    await expect(put(id, second)).rejects.toMatchObject({ code: '23505' });
    await remove(id);
    await expect(put(id, second)).rejects.toMatchObject({ code: '23503' });
    const changed = { ...aFile('a', Buffer.from('checked')), open: aFile('a', Buffer.from('other')).open };
    await expect(put(await aVersion(), [changed])).rejects.toThrow('changed after it was checked');
    await cleanUp();
    expect(await countOf('content_blob')).toBe(0);
  });

  it('enforces maxBytesPerVersion and maxBytes exactly, and counts equal files once', async () => {
    const ids = [await aVersion(), await aVersion(), await aVersion(), await aVersion()];
    const [first = '', second = '', third = '', fourth = ''] = ids;
    const half = aFile('a', randomBytes(1_000 * KIB));
    await expect(put(first, [half, aFile('b', Buffer.from('x'))])).rejects.toMatchObject({
      code: 'content_too_large',
    });
    await put(first, [half]);
    await put(second, [{ ...half, path: 'same' }]);
    await put(third, [aFile('a', randomBytes(1_000 * KIB))]);
    await expect(put(fourth, [aFile('a', Buffer.from('one'))])).rejects.toMatchObject({
      code: 'content_full',
    });
    await put(fourth, [half]);
    for (const id of ids) await remove(id);
    await cleanUp();
  });

  it('stays complete while replicas store and delete the same files', async () => {
    const files = Array.from({ length: 6 }, (_, index) => aFile(`f${index}`, Buffer.from(`data ${index}`)));
    const churn = async (from: number) => {
      for (let round = 0; round < 15; round += 1) {
        const id = await aVersion();
        await put(id, files.slice((from + round) % 4, ((from + round) % 4) + 3));
        for (const { digest } of (await store.treeOf(id))?.files ?? []) await bytesOf(digest);
        await remove(id);
      }
    };
    const sweep = async () => {
      for (let round = 0; round < 60; round += 1) await store.deleteUnused(1);
    };
    await Promise.all([churn(0), churn(1), sweep()]);
    await cleanUp();
    expect(await countOf('content_blob')).toBe(0);
  });
});
