import type { Document } from './documents.js';
import type { ServiceUnderTest } from './service.js';

/** A skill or plugin derived by a git source, as the admin API shows it. */
export interface DerivedEntry {
  readonly document: Document;
  readonly content: { readonly status: string; readonly error?: string; readonly digest?: string };
}

/** The entries of a registry by name, without the namespace. */
export async function derivedEntries(
  service: ServiceUnderTest,
  type: 'skill' | 'plugin',
  source = 'main',
): Promise<Record<string, DerivedEntry>> {
  const listed = await service.get(`/registry/${source}/v0.1/x/dev.toolhive/${type}s?limit=100`);
  const documents = (listed.json as Record<string, Document[]>)[`${type}s`] ?? [];
  const { json } = await service.get(`/v1/sources/${source}/entries`);
  const { entries } = json as {
    entries: { name: string; versions: { content: DerivedEntry['content'] }[] }[];
  };
  return Object.fromEntries(
    documents.map((document) => {
      const found = entries.find(({ name }) => name === `${document['namespace']}/${document['name']}`);
      return [document['name'], { document, content: found?.versions[0]?.content ?? { status: 'unknown' } }];
    }),
  );
}

/** The paths of a version's content; null if it has none. */
export async function filesOf(
  service: ServiceUnderTest,
  type: 'skill' | 'plugin',
  { document }: DerivedEntry,
  registry = 'main',
): Promise<string[] | null> {
  const { namespace, name, version } = document;
  const path = `/registry/${registry}/x/content/${type}/${namespace}/${name}/${version}/files`;
  const { status, json } = await service.get(path);
  return status === 200 ? (json as { files: { path: string }[] }).files.map(({ path: file }) => file) : null;
}

/** The zip file of a version's content, whose files are not compressed. */
export async function zipOf(
  service: ServiceUnderTest,
  type: 'skill' | 'plugin',
  { document }: DerivedEntry,
): Promise<string> {
  const { namespace, name, version } = document;
  const { text } = await service.get(`/registry/main/x/content/${type}/${namespace}/${name}/${version}.zip`);
  return text;
}
