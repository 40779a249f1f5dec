import { FetchError } from '../../outbound/fetch-error.js';
import { derivedDocument, derivedVersion } from './derived-document.js';
import type { PluginEntry, RemotePlugin } from './plugin-sources.js';
import type { DerivedRead } from './source-content.js';

/**
 * Maximum number of tags and branches that one sync looks up in other repositories, how many at a time, and for how
 * long.
 */
const MAX_REFS = 200;
const REFS_AT_ONCE = 4;
const REFS_MS = 60_000;

/** Plugins that a marketplace lists from other repositories. A sync does not read their manifests. */
export class RemotePlugins {
  /**
   * The commit of each tag or branch, or the reason why it is unknown; null if fetching content from its host is not
   * allowed.
   */
  private readonly commits = new Map<string, string | FetchError | null>();

  private constructor(private readonly namespace: string) {}

  /** Asks the hosts from which content may be fetched for the commits of tags and branches. */
  static async read(
    plugins: readonly PluginEntry<RemotePlugin>[],
    { namespace, refs, signal }: DerivedRead & { readonly namespace: string },
  ): Promise<RemotePlugins> {
    const remote = new RemotePlugins(namespace);
    const unpinned = plugins.filter(({ source }) => source.sha === undefined);
    const asked = [...new Map(unpinned.map(({ source }) => [keyOf(source), source]))];
    const ended = AbortSignal.any([signal, AbortSignal.timeout(REFS_MS)]);
    let hosts = 0;
    const next = async (): Promise<void> => {
      for (let one = asked.shift(); one; one = asked.shift()) {
        const [key, { url, ref }] = one;
        if (!refs.isListed(url)) remote.commits.set(key, null);
        else if (++hosts > MAX_REFS || ended.aborted) remote.commits.set(key, TOO_MANY);
        else remote.commits.set(key, await commitOf(() => refs.resolve(url, ref, ended)));
      }
    };
    await Promise.all(Array.from({ length: REFS_AT_ONCE }, next));
    signal.throwIfAborted();
    return remote;
  }

  /** Whether a lookup failed. */
  get isIncomplete(): boolean {
    return [...this.commits.values()].some((found) => found instanceof FetchError && found !== TOO_MANY);
  }

  /** Returns the document of a plugin, or the reason why it has none. */
  made({
    entry,
    name,
    source,
  }: PluginEntry<RemotePlugin>):
    | { readonly document: Record<string, unknown>; readonly folder?: undefined }
    | string {
    const { namespace } = this;
    const found = source.sha ?? this.commits.get(keyOf(source)) ?? null;
    const commit = typeof found === 'string' ? found : undefined;
    const version = derivedVersion([entry], commit);
    if (version === undefined)
      return found instanceof FetchError
        ? `it has no version: ${found.shown}`
        : `it has no version: it states neither version nor sha, and content.fetch.hosts does not include ${new URL(source.url).host}`;
    const { url, ref, path: folder } = source;
    const document = derivedDocument({
      ...{ namespace, name, version, statedBy: [entry] },
      package: {
        url,
        folder,
        ...(commit === undefined ? {} : { commit }),
        ...(ref === undefined ? {} : { ref }),
      },
    });
    return { document };
  }
}

const TOO_MANY = new FetchError(
  `the marketplace has more than ${MAX_REFS} plugins without a sha at the hosts in content.fetch.hosts`,
);

async function commitOf(resolve: () => Promise<string>): Promise<string | FetchError> {
  try {
    return await resolve();
  } catch (error) {
    if (error instanceof FetchError) return error;
    if (error instanceof Error && ['AbortError', 'TimeoutError'].includes(error.name)) return TOO_SLOW;
    throw error;
  }
}

const TOO_SLOW = new FetchError(`its commit was not found within ${REFS_MS / 1_000} s`);

function keyOf({ url, ref }: RemotePlugin): string {
  return `${url} ${ref ?? ''}`;
}
