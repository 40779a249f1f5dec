import type { MarketplaceConfig } from '../config/config.js';
import { isDeeperThan } from '../json/json-text.js';
import { isObject } from '../json/json-values.js';
import type { EntryWithContent, EntryWithFiles, EntryFile } from '../content/entries-with-content.queries.js';

/** An entry under the name by which clients install it. */
export type Plugin<Entry extends EntryWithContent> = Entry & { readonly pluginName: string };
export type ListedPlugin = Plugin<EntryWithContent>;
export type MarketplacePlugin = Plugin<EntryWithFiles>;

/** A file of the repository: content by digest, or generated text. */
export type RepositoryFile = { readonly path: string; readonly executable: boolean } & (
  | { readonly digest: string; readonly bytes: number }
  | { readonly text: string }
);

/** reference/marketplace: `{namespace with hyphens}-{name}`, in lower case, because some file systems ignore case. */
export function pluginNameOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9-]/g, '-');
}

/**
 * Returns the entries as plugins, ordered by plugin name. A name depends only on its entry. If entries of different
 * names share a plugin name, none of them is a plugin, because otherwise a publisher could replace another's plugin. A
 * plugin hides the skill of the same name.
 */
export function pluginsOf<Entry extends EntryWithContent>(entries: readonly Entry[]): Plugin<Entry>[] {
  const plugins = new Map<string, Entry>();
  const ambiguous = new Set<string>();
  for (const entry of entries) {
    const pluginName = pluginNameOf(entry.name);
    const other = plugins.get(pluginName);
    if (other && other.name !== entry.name) ambiguous.add(pluginName);
    if (!other || other.type === 'skill') plugins.set(pluginName, entry);
  }
  return [...plugins]
    .filter(([pluginName]) => !ambiguous.has(pluginName))
    .map(([pluginName, entry]) => ({ ...entry, pluginName }))
    .sort((one, other) => (one.pluginName < other.pluginName ? -1 : 1));
}

/** Where clients look for the manifest of a plugin, in lower case. */
const MANIFESTS: ReadonlySet<string> = new Set([
  '.claude-plugin/plugin.json',
  '.codex-plugin/plugin.json',
  '.cursor-plugin/plugin.json',
  '.github/plugin/plugin.json',
  '.plugin/plugin.json',
  'plugin.json',
]);
/** Every plugin has these: the first is read by all clients but Cursor. */
const REQUIRED = ['.claude-plugin/plugin.json', '.cursor-plugin/plugin.json'];
/** Longer and deeper manifests are replaced. */
const MAX_MANIFEST_BYTES = 256 * 1_024;
const MAX_MANIFEST_DEPTH = 100;

/** Returns the files whose text `marketplaceTree` needs. */
export function manifestsIn(plugins: readonly MarketplacePlugin[]): EntryFile[] {
  return plugins.flatMap(({ type, files }) =>
    files.filter((file) => type === 'plugin' && isManifest(file) && file.bytes <= MAX_MANIFEST_BYTES),
  );
}

function isManifest({ path }: EntryFile): boolean {
  return MANIFESTS.has(path.toLowerCase());
}

/**
 * Returns the files of the repository of a view (reference/marketplace): the marketplace files of Claude Code, Copilot
 * CLI, Codex and Cursor, and each plugin below `plugins/`. Depends only on the arguments, and contains neither callers
 * nor addresses.
 *
 * @param manifests The texts of `manifestsIn`, by digest.
 */
export function marketplaceTree(
  { name, owner }: MarketplaceConfig,
  plugins: readonly MarketplacePlugin[],
  manifests: ReadonlyMap<string, string>,
): RepositoryFile[] {
  const listed = plugins.map(({ pluginName, description, version }) => ({
    name: pluginName,
    source: `./plugins/${pluginName}`,
    description,
    version,
  }));
  const marketplace = { name, owner: { name: owner }, plugins: listed };
  // https://learn.chatgpt.com/docs/build-plugins
  const codex = {
    name,
    interface: { displayName: owner },
    plugins: listed.map(({ name: plugin, source: path }) => ({
      name: plugin,
      source: { source: 'local', path },
      policy: { installation: 'AVAILABLE', authentication: 'ON_INSTALL' },
      category: 'Productivity',
    })),
  };
  // https://cursor.com/docs/reference/plugins: its schema knows no other keys.
  const cursor = {
    ...marketplace,
    plugins: listed.map(({ name: plugin, source, description }) => ({ name: plugin, source, description })),
  };
  return [
    jsonFile('.claude-plugin/marketplace.json', marketplace),
    jsonFile('.github/plugin/marketplace.json', marketplace),
    jsonFile('.agents/plugins/marketplace.json', codex),
    jsonFile('.cursor-plugin/marketplace.json', cursor),
    ...plugins.flatMap((plugin) =>
      filesOf(plugin, manifests).map((file) => ({
        ...file,
        path: `plugins/${plugin.pluginName}/${file.path}`,
      })),
    ),
  ];
}

/** Returns the marketplace for clients that read only this file, and fetch the plugins from the repository at `repository`. */
export function remoteMarketplace(
  { name, owner }: MarketplaceConfig,
  plugins: readonly ListedPlugin[],
  repository: string,
): object {
  return {
    name,
    owner: { name: owner },
    plugins: plugins.map(({ pluginName, description, version }) => ({
      name: pluginName,
      source: { source: 'git-subdir', url: repository, path: `plugins/${pluginName}` },
      description,
      version,
    })),
  };
}

/** Returns the files of a plugin, relative to its directory. */
function filesOf(plugin: MarketplacePlugin, manifests: ReadonlyMap<string, string>): RepositoryFile[] {
  const { type, name, files } = plugin;
  if (type === 'skill') {
    const directory = `skills/${name.slice(name.indexOf('/') + 1)}`;
    return [
      ...REQUIRED.map((path) => jsonFile(path, manifestOf(plugin))),
      ...files.map((file) => ({ ...file, path: `${directory}/${file.path}` })),
    ];
  }
  const written = new Map(REQUIRED.map((path) => [path, textOf(manifestOf(plugin))]));
  for (const file of files.filter(isManifest))
    written.set(file.path.toLowerCase(), renamed(manifests.get(file.digest) ?? '', plugin));
  const isReplaced = ({ path }: EntryFile) =>
    [...written.keys()].some((each) => `${each}/`.startsWith(`${path.toLowerCase()}/`));
  return [
    ...[...written].map(([path, manifest]) => ({ path, executable: false, text: manifest })),
    ...files.filter((file) => !isReplaced(file)),
  ];
}

function manifestOf({ pluginName, version, description }: ListedPlugin): object {
  return { name: pluginName, version, description };
}

/**
 * Returns the manifest with the name and version of the marketplace: Codex refuses other names, clients find updates by
 * the version, and no plugin may take the name of another.
 */
function renamed(text: string, plugin: ListedPlugin): string {
  const manifest = manifestOf(plugin);
  if (isDeeperThan(Buffer.from(text), MAX_MANIFEST_DEPTH)) return textOf(manifest);
  try {
    const stored: unknown = JSON.parse(text);
    if (!isObject(stored)) return textOf(manifest);
    const named = { ...manifest, ...stored, name: plugin.pluginName, version: plugin.version };
    // Indentation could multiply its length.
    return `${JSON.stringify(named)}\n`;
  } catch {
    return textOf(manifest);
  }
}

function jsonFile(path: string, value: object): RepositoryFile {
  return { path, executable: false, text: textOf(value) };
}

function textOf(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
