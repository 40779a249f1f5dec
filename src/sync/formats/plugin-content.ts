import { posix } from 'node:path';
import { elements, isObject, member } from '../../json/json-values.js';
import { foldersAbove } from './folder-files.js';
import { pathInside } from './plugin-sources.js';

/** Components whose paths are files and folders. For most of them, a list replaces the default folder. */
const PATH_LISTS = ['skills', 'commands', 'agents', 'outputStyles', 'workflows'] as const;
const DEFAULT_FOLDERS: Readonly<Record<string, string>> = {
  commands: 'commands',
  agents: 'agents',
  outputStyles: 'output-styles',
  workflows: 'workflows',
};
/** Components that are configured inline or by the paths of files. */
const CONFIGURATIONS = ['hooks', 'mcpServers', 'lspServers'] as const;
/** A plugin that lists one of these with `strict: false` has no other components. */
const LISTED = ['skills', 'commands', 'agents', 'hooks', 'mcpServers'] as const;
/** Keys of a marketplace entry that describe the listing, not the plugin. */
const NOT_IN_MANIFESTS = new Set(['source', 'category', 'tags', 'strict', 'relevance', 'policy']);

const TOP_FILE = /^(readme|licen[cs]e)(\..*)?$/i;
/** Matches a file in the plugin's folder that a command references. */
const NAMED_FILE = /\$\{?(?:CLAUDE_)?PLUGIN_ROOT\}?["']?\/([^\s"'`;|&<>()$\\]+)/g;
const NAMED_WHOLE = /^\$\{?(?:CLAUDE_)?PLUGIN_ROOT\}?\/(.+)$/s;
const MAX_NAMED_FILES = 1_000;

/** The parts of a plugin: its folder, and the marketplace's description. */
export interface PluginParts {
  /** The entry of the marketplace. */
  readonly entry: Readonly<Record<string, unknown>>;
  /** The manifest in the folder; null if there is none. */
  readonly manifest: Readonly<Record<string, unknown>> | null;
  /** The paths of the folder's files and links, relative to the folder. */
  readonly paths: readonly string[];
  /** The files referenced by the files in `configurationFiles`, by path: see `configuredFiles`. */
  readonly configurations: ReadonlyMap<string, readonly string[]>;
}

/** What is stored of a plugin's folder. */
export interface PluginContent {
  /** The paths to store; null for all. */
  readonly only: ReadonlySet<string> | null;
  /** The text of the manifest that replaces the folder's. */
  readonly manifest: string;
}

/** Whether only the marketplace defines the plugin. */
export function isDefinedByEntry(entry: Readonly<Record<string, unknown>>): boolean {
  return entry['strict'] === false;
}

/** Whether the plugin is stored with all its files and its own manifest. */
export function isStoredAsIs(entry: Readonly<Record<string, unknown>>): boolean {
  return !isDefinedByEntry(entry) && ![...PATH_LISTS, ...CONFIGURATIONS].some((key) => isStated(entry[key]));
}

/** Returns the files needed to determine what is stored: the listed configurations of hooks and servers. */
export function configurationFiles(entry: Readonly<Record<string, unknown>>): string[] {
  if (!isDefinedByEntry(entry) || !listsComponents(entry)) return [];
  return CONFIGURATIONS.flatMap((key) => pathsIn(entry[key]));
}

/**
 * Returns what is stored of a rewritten plugin (reference/sources). Clients get the same components from here as from
 * the marketplace. The manifest may be as long as the marketplace.
 */
export function pluginContent(parts: PluginParts): PluginContent {
  const { entry } = parts;
  if (!isDefinedByEntry(entry)) return { only: null, manifest: textOf(mergedManifest(parts)) };
  const only = listsComponents(entry) ? listedPaths(parts) : null;
  return { only, manifest: textOf(manifestOfEntry(entry)) };
}

function listsComponents(entry: Readonly<Record<string, unknown>>): boolean {
  return LISTED.some((key) => isStated(entry[key]));
}

function isStated(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function manifestOfEntry(entry: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(entry).filter(([key]) => !NOT_IN_MANIFESTS.has(key)));
}

/**
 * Adds the components that the entry lists to the manifest. If the manifest lists none of a kind, the default folder is
 * kept.
 */
function mergedManifest({ entry, manifest, paths }: PluginParts): Record<string, unknown> {
  const components = new Set<string>([...PATH_LISTS, ...CONFIGURATIONS]);
  const merged =
    manifest === null
      ? Object.fromEntries(Object.entries(manifestOfEntry(entry)).filter(([key]) => !components.has(key)))
      : { ...manifest };
  for (const key of components) {
    const added = entry[key];
    if (!isStated(added)) continue;
    const folder = DEFAULT_FOLDERS[key];
    const byDefault =
      folder !== undefined && paths.some((path) => path.startsWith(`${folder}/`)) ? [`./${folder}/`] : [];
    const own = isStated(merged[key]) ? merged[key] : byDefault;
    merged[key] =
      isObject(own) && isObject(added) && key !== 'hooks'
        ? { ...own, ...added }
        : distinct([...listOf(own), ...listOf(added)]);
  }
  return merged;
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [value];
}

function distinct(values: readonly unknown[]): unknown {
  const list = [...new Set(values)];
  // A single configuration is also valid for clients that do not support lists of them.
  return list.length === 1 && isObject(list[0]) ? list[0] : list;
}

/**
 * Returns the paths that the entry lists, the files that listed hooks and servers reference, and the README and
 * LICENSE.
 */
function listedPaths({ entry, paths, configurations }: PluginParts): Set<string> {
  const listed = [...PATH_LISTS, ...CONFIGURATIONS].flatMap((key) => pathsIn(entry[key]));
  // An entry may list a file any number of times.
  const named = [
    ...CONFIGURATIONS.flatMap((key) => configuredFiles(entry[key])),
    ...[...configurations.values()].flat(),
  ];
  const files = new Set(paths);
  // A file includes its folder, but not the whole plugin.
  const folders = named.map((path) => (files.has(path) && path.includes('/') ? posix.dirname(path) : path));
  const kept = new Set([...listed, ...folders]);
  const isKept = (path: string) => ['', path, ...foldersAbove(path)].some((one) => kept.has(one));
  return new Set(paths.filter((path) => isKept(path) || TOP_FILE.test(path)));
}

/** Returns the paths in a list of components: a string, a list of strings, or objects with a `source`. */
function pathsIn(value: unknown): string[] {
  const given = isObject(value) ? Object.values(value).map((item) => member(item, 'source')) : listOf(value);
  return given.flatMap((path) => (typeof path === 'string' ? (pathInside(path) ?? []) : []));
}

/**
 * Returns the files in the plugin's folder that a configuration references through a variable for the folder; at most
 * the first thousand.
 */
export function configuredFiles(configuration: unknown): string[] {
  const found: string[] = [];
  const visit = (value: unknown, levels: number): void => {
    if (levels === 0 || found.length >= MAX_NAMED_FILES) return;
    if (typeof value === 'string') {
      const whole = NAMED_WHOLE.exec(value)?.[1];
      const parts = [...value.matchAll(NAMED_FILE)].map(([, path]) => path);
      for (const path of [whole, ...parts]) {
        const inner = path === undefined ? undefined : pathInside(path);
        if (inner !== undefined && inner !== '') found.push(inner);
      }
    } else
      for (const inner of isObject(value) ? Object.values(value) : elements(value)) visit(inner, levels - 1);
  };
  visit(configuration, 20);
  return found.slice(0, MAX_NAMED_FILES);
}

function textOf(manifest: object): string {
  // Omits indentation, which would make a nested manifest a hundred times as long.
  return `${JSON.stringify(manifest)}\n`;
}
