import { createHash } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { ENTITIES } from '../../dist/app/entities.js';
import { ContentFetch, ContentFile, VersionContent } from '../../dist/content/content.entity.js';
import { ContentStore } from '../../dist/content/content-store.queries.js';
import { type IncomingFile, withMembers } from '../../dist/content/content-tree.js';
import { createDataSource } from '../../dist/database/open-database.js';
import { noteChanged } from '../../dist/entry-store/entry-rows.queries.js';
import type { ServiceUnderTest } from './service.js';

/** The files of a version by path; a path that ends in `*` is executable. */
export type Files = Readonly<Record<string, string | Buffer>>;

/** Stores the content of a version like a fetch, but without applying blocks or rules. */
export function storeContent(
  service: ServiceUnderTest,
  type: 'plugin' | 'skill',
  name: string,
  version: string,
  files: Files,
): Promise<void> {
  return withStore(service, (...into) => storeIn(...into, type, name, version, files));
}

/** Stores the content of version 1.0.0 of many skills. */
export async function storeSkills(
  service: ServiceUnderTest,
  skills: ReadonlyMap<string, Files>,
): Promise<void> {
  await withStore(service, async (...into) => {
    for (const [name, files] of skills) await storeIn(...into, 'skill', name, '1.0.0', files);
  });
}

async function storeIn(
  store: ContentStore,
  dataSource: DataSource,
  type: 'plugin' | 'skill',
  name: string,
  version: string,
  files: Files,
): Promise<void> {
  const versions = await dataSource.query<{ id: string; sourceId: number; entryId: string }[]>(
    `select v.id, e.source_id as "sourceId", e.id as "entryId" from entry_version v join entry e on e.id = v.entry_id
       where e.type = $1 and e.name = $2 and v.version = $3`,
    [type, name, version],
  );
  if (versions.length === 0) throw new Error(`There is no ${type} ${name}@${version}`);
  const content = await withMembers(incoming(files));
  for (const { id: versionId, sourceId, entryId } of versions)
    await dataSource.transaction(async (manager) => {
      const { digest: tree } = await store.write(manager, content);
      await manager.insert(VersionContent, { versionId, tree });
      await manager.update(ContentFetch, { versionId }, { fetchAt: null, error: null });
      await noteChanged(manager, sourceId, [entryId]);
    });
}

/** Deletes content that no version has, as the server does every few minutes. */
export async function deleteUnusedContent(service: ServiceUnderTest): Promise<void> {
  await withStore(service, async (store) => {
    while ((await store.deleteUnused(100)) !== 0);
  });
}

async function withStore(
  { database }: ServiceUnderTest,
  work: (store: ContentStore, dataSource: DataSource) => Promise<void>,
): Promise<void> {
  const dataSource = await createDataSource(
    { ...database.connection, poolMax: 1 },
    ENTITIES,
    () => undefined,
  ).initialize();
  try {
    const limits = {
      fetchHosts: [],
      fetchAccounts: [],
      maxBytesPerVersion: 256 * 1024 ** 2,
      maxBytes: 1024 ** 4,
    };
    const [contents, contentFiles] = [
      dataSource.getRepository(VersionContent),
      dataSource.getRepository(ContentFile),
    ];
    await work(new ContentStore(dataSource, contents, contentFiles, limits), dataSource);
  } finally {
    await dataSource.destroy();
  }
}

function incoming(files: Files): IncomingFile[] {
  return Object.entries(files).map(([path, content]) => {
    const data = Buffer.from(content);
    return {
      path: path.replace(/\*$/, ''),
      digest: createHash('sha256').update(data).digest('hex'),
      bytes: data.length,
      executable: path.endsWith('*'),
      open: async function* () {
        yield data;
      },
    };
  });
}
