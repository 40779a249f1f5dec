import type { MarketplaceConfig } from '../config/config.js';
import { pluginNameOf } from '../documents/plugin-name.js';
import { parseShallow } from '../json/json-text.js';
import { isObject } from '../json/json-values.js';
import { smallestWithin } from '../limits/smallest-within.js';
import type { ContentTreeFile } from '../content/content-tree.js';
import type { EntryWithContent, EntryWithFiles } from '../content/entries-with-content.queries.js';
import { windowsProblem } from '../content/windows-names.js';
import { MANIFESTS } from '../members/read-members.js';
import {
  CLAUDE_FILE,
  hasPath,
  MAX_SERVERS_FILE_BYTES,
  onlyServersFile,
  PLUGIN_SCHEMA,
  PORTABLE_FILE,
  translatedServers,
} from '../members/translated-servers.js';
import { foldedName } from '../validation/folded-names.js';

/** An entry under the name with which clients install it. */
export type Plugin<Entry extends EntryWithContent> = Entry & { readonly pluginName: string };
export type ListedPlugin = Plugin<EntryWithContent>;
export type MarketplacePlugin = Plugin<EntryWithFiles>;

/** A file of the repository: content by digest, or generated text. */
export type RepositoryFile = { readonly path: string; readonly executable: boolean } & (
  | { readonly digest: string; readonly bytes: number }
  | { readonly text: string }
);

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

/** Every plugin has these. All clients but Cursor read the first. */
const REQUIRED = ['.claude-plugin/plugin.json', '.cursor-plugin/plugin.json'];
/** The manifest of Agent Plugins 1.0. */
const PORTABLE_MANIFEST = 'plugin.json';
/** Longer and deeper manifests are replaced. */
const MAX_MANIFEST_BYTES = 256 * 1_024;
const MAX_MANIFEST_DEPTH = 100;

/** Returns the manifests whose text `marketplaceTree` needs. */
export function manifestsIn(plugins: readonly MarketplacePlugin[]): ContentTreeFile[] {
  return plugins.flatMap(({ type, files }) =>
    files.filter((file) => type === 'plugin' && isManifest(file) && file.bytes <= MAX_MANIFEST_BYTES),
  );
}

/** Returns the servers files whose text `marketplaceTree` needs: those of plugins that have only one of the two. */
export function serversFilesIn(plugins: readonly MarketplacePlugin[]): ContentTreeFile[] {
  return plugins.flatMap(({ type, files }) => {
    const file = type === 'plugin' ? onlyServersFile(files) : undefined;
    return file && file.bytes <= MAX_SERVERS_FILE_BYTES ? [file] : [];
  });
}

/** Returns the attributes whose text `marketplaceTree` needs. */
export function attributesIn(plugins: readonly MarketplacePlugin[]): ContentTreeFile[] {
  return plugins.flatMap(({ files }) =>
    files.filter(({ path, bytes }) => ATTRIBUTES.test(gitNameOf(path)) && bytes <= MAX_ATTRIBUTES_BYTES),
  );
}

/**
 * Returns the smallest files, as many as fit, by digest. For the others, manifests are generated, servers are not
 * translated, and attributes are left out.
 *
 * @param files those of all plugins, in order; identical files count once for each plugin, because each appears in the
 *   repository.
 */
export function withinBytes(files: readonly ContentTreeFile[], maxBytes: number): string[] {
  const totals = new Map<string, number>();
  for (const { digest, bytes } of files) totals.set(digest, (totals.get(digest) ?? 0) + bytes);
  return smallestWithin([...totals], maxBytes, ([, bytes]) => bytes).map(([digest]) => digest);
}

/** Texts by digest. */
export interface PluginTexts {
  /** The files that `manifestsIn` returned. */
  readonly manifests: ReadonlyMap<string, string>;
  /** The files that `serversFilesIn` returned. */
  readonly servers: ReadonlyMap<string, string>;
  /** The files that `attributesIn` returned. */
  readonly attributes: ReadonlyMap<string, string>;
}

/** The files that Git itself reads, by `gitNameOf`, also by their short names on Windows. */
const ATTRIBUTES = /^(\.gitattributes|gitatt~\d)$/;
const SUBMODULES = /^(\.gitmodules|gitmod~\d)$/;
const MAX_ATTRIBUTES_BYTES = 64 * 1_024;
/** The longest file name of common file systems. */
const MAX_NAME_BYTES = 255;

function gitNameOf(path: string): string {
  return foldedName(path.slice(path.lastIndexOf('/') + 1));
}

/** Whether clones do not fail because of this file: Git LFS, for example, stops them if it cannot find the contents. */
function isClonable({ path, digest }: ContentTreeFile, { attributes }: PluginTexts): boolean {
  const name = gitNameOf(path);
  if (path.split('/').some((segment) => Buffer.byteLength(segment) > MAX_NAME_BYTES)) return false;
  if (ATTRIBUTES.test(name)) return attributes.get(digest)?.includes('filter') === false;
  return !SUBMODULES.test(name);
}

function isManifest({ path }: ContentTreeFile): boolean {
  return MANIFESTS.includes(path.toLowerCase());
}

/**
 * Returns the files of the repository of a view (reference/marketplace): the marketplace files of Claude Code, Copilot
 * CLI, Codex and Cursor, and each plugin below `plugins/`. Depends only on the arguments, and contains neither callers
 * nor addresses.
 *
 * @param texts missing texts are replaced: see `withinBytes`.
 */
export function marketplaceTree(
  { name, owner }: MarketplaceConfig,
  plugins: readonly MarketplacePlugin[],
  texts: PluginTexts,
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
      filesOf(plugin, texts).map((file) => ({
        ...file,
        path: `plugins/${plugin.pluginName}/${file.path}`,
      })),
    ),
  ];
}

/** The URLs from which clients that read only the marketplace file fetch the plugins. */
export interface PluginSources {
  /** The URL of the repository. */
  readonly repository: string;
  /** The URL below which the archives are; null if the plugins come from the repository. */
  readonly archives: string | null;
}

/** Returns the marketplace for clients that read only this file. */
export function remoteMarketplace(
  { name, owner }: MarketplaceConfig,
  plugins: readonly ListedPlugin[],
  { repository, archives }: PluginSources,
): object {
  return {
    name,
    owner: { name: owner },
    plugins: plugins.map(({ pluginName, type, name: entry, description, version }) => ({
      name: pluginName,
      source:
        archives === null
          ? { source: 'git-subdir', url: repository, path: `plugins/${pluginName}` }
          : { source: 'archive', url: `${archives}/${type}/${entry}/${encodeURIComponent(version)}.zip` },
      description,
      version,
    })),
  };
}

/**
 * Returns the files of a plugin, relative to its directory.
 *
 * @param texts see `marketplaceTree`.
 */
export function filesOf(plugin: MarketplacePlugin, texts: PluginTexts): RepositoryFile[] {
  const { type, name } = plugin;
  const files = plugin.files.filter((file) => isClonable(file, texts));
  if (type === 'skill') {
    const own = name.slice(name.indexOf('/') + 1);
    const directory = `skills/${windowsProblem(own) === undefined ? own : `${own}-skill`}`;
    return [
      ...REQUIRED.map((path) => jsonFile(path, manifestOf(plugin))),
      jsonFile(PORTABLE_MANIFEST, portableManifestOf(plugin)),
      ...files.map((file) => ({ ...file, path: `${directory}/${file.path}` })),
    ];
  }
  const written = new Map(REQUIRED.map((path) => [path, textOf(manifestOf(plugin))]));
  const stored = files
    .filter(isManifest)
    .map((file) => ({ file, text: texts.manifests.get(file.digest) ?? '' }));
  for (const { file, text } of stored) written.set(file.path.toLowerCase(), renamed(text, plugin));
  const servers = onlyServersFile(files);
  const translated = servers && translatedServers(servers.path, texts.servers.get(servers.digest) ?? '');
  const manifests = stored.map(({ text }) => text);
  const isPortable =
    !hasOwnParts(files, manifests) && !(servers?.path === CLAUDE_FILE && translated?.hasNone);
  if (isPortable && !hasPath(files, PORTABLE_MANIFEST))
    written.set(PORTABLE_MANIFEST, textOf(portableManifestOf(plugin)));
  if (servers && translated?.text)
    written.set(servers.path === PORTABLE_FILE ? CLAUDE_FILE : PORTABLE_FILE, translated.text);
  const isReplaced = ({ path }: ContentTreeFile) =>
    [...written.keys()].some((each) => `${each}/`.startsWith(`${path.toLowerCase()}/`));
  return [
    ...[...written].map(([path, text]) => ({ path, executable: false, text })),
    ...files.filter((file) => !isReplaced(file)),
  ];
}

/** Folders and files that exist only in the clients' own formats. */
const OWN_PARTS =
  /^(?:agents|commands|hooks|monitors|output-styles|rules|themes|workflows|com\.github\.copilot)\/|^(?:hooks|lsp|\.lsp|\.app|settings)\.json$/i;
/** Members of manifests that do not describe parts. */
const DESCRIBING = new Set(
  '$schema name version description author homepage repository license keywords displayName category tags strict'.split(
    ' ',
  ),
);
/** Members whose value is the default. */
const DEFAULT_PARTS: readonly (readonly [string, RegExp])[] = [
  ['skills', /^(?:\.\/)?skills\/?$/],
  ['mcpServers', /^(?:\.\/)?\.mcp\.json$/],
];

/**
 * Returns whether a plugin has parts that Agent Plugins 1.0 does not know, such as commands and hooks. If there is a
 * `plugin.json` of Agent Plugins, Codex, VS Code and Copilot read nothing else, so such a plugin keeps the clients' own
 * formats.
 *
 * @param manifests the texts of its manifests.
 */
function hasOwnParts(files: readonly ContentTreeFile[], manifests: readonly string[]): boolean {
  return files.some(({ path }) => OWN_PARTS.test(path)) || manifests.some(namesOwnParts);
}

function namesOwnParts(text: string): boolean {
  return Object.entries(objectIn(text) ?? {}).some(
    ([key, value]) =>
      !DESCRIBING.has(key) &&
      !DEFAULT_PARTS.some(([name, path]) => name === key && typeof value === 'string' && path.test(value)),
  );
}

function manifestOf({ pluginName, version, description }: ListedPlugin): object {
  return { name: pluginName, version, description };
}

function portableManifestOf(plugin: ListedPlugin): object {
  return { $schema: PLUGIN_SCHEMA, ...manifestOf(plugin) };
}

/**
 * Returns the manifest with the marketplace's name and version: Codex refuses other names, clients detect updates by
 * the version, and no plugin may take another's name.
 */
function renamed(text: string, plugin: ListedPlugin): string {
  const manifest = manifestOf(plugin);
  const stored = objectIn(text);
  if (!stored) return textOf(manifest);
  const named = { ...manifest, ...stored, name: plugin.pluginName, version: plugin.version };
  // Indentation could multiply its length.
  return `${JSON.stringify(named)}\n`;
}

function objectIn(text: string): Record<string, unknown> | undefined {
  const value = parseShallow(text, MAX_MANIFEST_DEPTH);
  return isObject(value) ? value : undefined;
}

function jsonFile(path: string, value: object): RepositoryFile {
  return { path, executable: false, text: textOf(value) };
}

function textOf(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
