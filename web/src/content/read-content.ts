import { api, unwrap } from '../api/client.js';
import type { ContentFiles, EntryType, Members } from '../api/types.js';
import { type Query, useQuery } from '../ui/query.js';
import type { ContentSection } from './content-section.js';
import { type Marketplace, readMarketplace } from './marketplace.js';

/** The files of a version, the component that shows them, and the marketplace that offers it. */
export interface Content {
  readonly files: ContentFiles;
  readonly members: Members;
  readonly marketplace: Marketplace | undefined;
  readonly Section: typeof ContentSection;
}

/** How long the page waits for a marketplace, whose repository may have to be built first. */
const MARKETPLACE_MS = 4_000;

/**
 * Reads the files of a version; undefined (a 404) if it has none here, which is the usual case. Servers never have any.
 */
export function useContent(
  registry: string,
  type: EntryType,
  name: string,
  version: string,
): Query<Content | undefined> {
  const key = type === 'server' ? null : JSON.stringify([registry, type, name, version]);
  return useQuery(key, async (signal) => {
    const [namespace = '', own = ''] = name.split('/');
    const path = {
      registry,
      type: type === 'skill' ? type : ('plugin' as const),
      namespace,
      name: own,
      version,
    };
    const asked = api.GET('/registry/{registry}/x/content/{type}/{namespace}/{name}/{version}/files', {
      params: { path },
      signal,
    });
    const files = await unwrap(asked).catch(() => undefined);
    if (!files) return undefined;
    const [members, marketplace, { ContentSection: Section }] = await Promise.all([
      import('./members.js').then(({ readMembers }) => readMembers(path, signal)),
      // Most registries are not marketplaces, which means a 404.
      readMarketplace(registry, AbortSignal.any([signal, AbortSignal.timeout(MARKETPLACE_MS)])).catch(
        () => undefined,
      ),
      import('./content-section.js'),
    ]);
    return { files, members, marketplace, Section };
  });
}
