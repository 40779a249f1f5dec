import { posix } from 'node:path';
import { documentNameOf, nameProblem } from '../../documents/derived-text.js';
import { isObject, member } from '../../json/json-values.js';
import { isSameRepository, parseGitRepository, webAddressOf } from '../../source-kinds/git-repository.js';

/** The paths of marketplace files, in the order in which they are tried. */
export const MARKETPLACE_FILES = [
  '.claude-plugin/marketplace.json',
  '.github/plugin/marketplace.json',
  '.agents/plugins/marketplace.json',
  '.cursor-plugin/marketplace.json',
] as const;

const COMMIT = /^([0-9a-f]{40}|[0-9a-f]{64})$/i;
const REF = /^[A-Za-z0-9_][A-Za-z0-9._/+@-]{0,254}$/;
const GITHUB = /^[A-Za-z0-9-]+\/[A-Za-z0-9._-]+$/;

/** A plugin in the repository of its marketplace. */
export interface LocalPlugin {
  readonly kind: 'local';
  /** Path from the root of the repository; empty for the root. */
  readonly path: string;
}

/** A plugin in another repository. */
export interface RemotePlugin {
  readonly kind: 'remote';
  readonly url: string;
  readonly ref: string | undefined;
  readonly sha: string | undefined;
  /** Empty for the root. */
  readonly path: string;
}

/** The reason why a plugin cannot be read from its source. */
interface Unreadable {
  readonly kind: 'none';
  readonly reason: string;
}

type PluginSource = LocalPlugin | RemotePlugin | Unreadable;

type MarketplaceEntry = Readonly<Record<string, unknown>>;

/** A plugin listed in a marketplace. */
export interface PluginEntry<Source> {
  readonly entry: MarketplaceEntry;
  /** The version of its document. */
  readonly name: string;
  readonly source: Source;
}

/** Returns the plugin of an entry, or the reason why it cannot be read. */
export function listedPlugin(
  entry: unknown,
  place: MarketplacePlace,
): PluginEntry<LocalPlugin> | PluginEntry<RemotePlugin> | string {
  if (!isObject(entry)) return 'must be an object';
  const given = entry['name'];
  const name = typeof given === 'string' ? documentNameOf(given) : undefined;
  if (name === undefined) return nameProblem('name', given);
  const source = pluginSourceOf(entry['source'], place);
  if (source.kind === 'none') return source.reason;
  return source.kind === 'local' ? { entry, name, source } : { entry, name, source };
}

/** The base for the relative paths of a marketplace. */
export interface MarketplacePlace {
  /** Null if the marketplace is a single file, without a repository around it. */
  readonly repository: { readonly address: string; readonly commit: string } | null;
  /** The folder to which paths are relative, from the root of the repository. */
  readonly root: string;
  readonly pluginRoot: string | undefined;
}

/**
 * Returns the base for the paths of a marketplace file: the folder that contains the file's own folder, such as
 * `.claude-plugin` or `.github/plugin`.
 *
 * @param marketplace the parsed file.
 */
export function placeOfMarketplace(
  path: string,
  marketplace: unknown,
  repository: MarketplacePlace['repository'],
): MarketplacePlace {
  const known = MARKETPLACE_FILES.find((file) => path === file || path.endsWith(`/${file}`));
  const root = known === undefined ? posix.dirname(posix.dirname(path)) : path.slice(0, -known.length);
  const pluginRoot = member(member(marketplace, 'metadata'), 'pluginRoot');
  return {
    repository,
    root: root.replace(/^\.$/, '').replace(/\/$/, ''),
    pluginRoot: typeof pluginRoot === 'string' ? pluginRoot : undefined,
  };
}

/** Returns where a plugin is (reference/sources), based on the `source` of its entry. */
export function pluginSourceOf(source: unknown, place: MarketplacePlace): PluginSource {
  if (typeof source === 'string') return localPlugin(source, place);
  if (!isObject(source)) return none('source: must be a path or an object');
  const { source: kind, url, path, repo } = source;
  switch (kind) {
    case 'local':
      return localPlugin(path, place);
    case 'github':
      return remotePlugin(typeof repo === 'string' && GITHUB.test(repo) ? repo : undefined, source, place);
    case 'url':
    case 'git-subdir':
      return remotePlugin(url, source, place);
    default:
      return none(
        typeof kind === 'string'
          ? `source: ${JSON.stringify(kind.slice(0, 50))} is not supported; only paths and Git repositories are`
          : 'source: must state its kind, such as {"source": "url"}',
      );
  }
}

function localPlugin(path: unknown, { repository, root, pluginRoot }: MarketplacePlace): PluginSource {
  if (typeof path !== 'string' || path === '') return none('source: must have a path');
  if (!repository)
    return none("source: is a path in the marketplace's repository: add that repository as a git source");
  const isBare = !path.includes('/') && !path.startsWith('.');
  const inner = pathInside(isBare && pluginRoot !== undefined ? `${pluginRoot}/${path}` : path);
  if (inner === undefined) return leaves('source');
  return { kind: 'local', path: posix.join(root, inner).replace(/^\.$/, '') };
}

function remotePlugin(
  address: unknown,
  { path, ref, sha }: Readonly<Record<string, unknown>>,
  { repository }: MarketplacePlace,
): PluginSource {
  const full =
    typeof address === 'string' && GITHUB.test(address) ? `https://github.com/${address}` : address;
  const url = parseGitRepository(full) && webAddressOf(String(full));
  if (url === undefined) return none('source: is not a Git repository that can be read over https');
  if (path !== undefined && typeof path !== 'string') return none('source.path: must be a string');
  const inner = pathInside(path ?? '');
  if (inner === undefined) return leaves('source.path');
  if (sha !== undefined && (typeof sha !== 'string' || !COMMIT.test(sha)))
    return none('source.sha: must be a full commit id: 40 or 64 hexadecimal digits');
  if (ref !== undefined && (typeof ref !== 'string' || !REF.test(ref)))
    return none('source.ref: is not the name of a tag or branch');
  const commit = sha?.toLowerCase();
  if (repository && isSameRepository(String(full), repository.address))
    if (commit === undefined || commit === repository.commit) return { kind: 'local', path: inner };
  return { kind: 'remote', url, ref, sha: commit, path: inner };
}

/** Returns a relative path without `.` segments; undefined if it leaves its folder. */
export function pathInside(path: string): string | undefined {
  if (path.startsWith('/') || /[\\\0]/.test(path)) return undefined;
  const inner = posix.normalize(path === '' ? '.' : path).replace(/\/$/, '');
  if (inner === '.') return '';
  return inner === '..' || inner.startsWith('../') ? undefined : inner;
}

function none(reason: string): Unreadable {
  return { kind: 'none', reason };
}

function leaves(what: string): Unreadable {
  return none(`${what}: points outside the repository`);
}
