import type { GitTree, TreeEntry } from '../../git/git-tree.js';
import { heapOverhead, isDeeperThan, parseText } from '../../json/json-text.js';
import { isObject } from '../../json/json-values.js';
import { pauseIfDue } from '../../limits/time-slice.js';
import { EntryValidator } from '../entry-validator.js';
import { DerivedEntries, MAX_DERIVED, NAME_TAKEN } from './derived-entries.js';
import { namespaceFor } from './folder-files.js';
import { type DerivedRead, type FolderReader, type FormatContent, FormatError } from './source-content.js';
import { LocalPlugins } from './local-plugins.js';
import {
  type PluginEntry,
  listedPlugin,
  type LocalPlugin,
  placeOfMarketplace,
  type RemotePlugin,
} from './plugin-sources.js';
import { RemotePlugins } from './remote-plugins.js';
import { withFormatErrors } from './sliced-file.js';

/** Parsing more would block other requests. */
export const MAX_MARKETPLACE_BYTES = 4 * 1024 * 1024;
const MAX_DEPTH = 100;
const TOO_LARGE = 'The marketplace is larger than 4 MiB, the maximum';

/** Reads a marketplace in a repository, with its plugins in this and other repositories. */
export const readMarketplaceFolder: FolderReader = async (read) => {
  const { tree, at } = read;
  let text: Buffer | null = null;
  await tree.read([at], MAX_MARKETPLACE_BYTES, (_file, bytes) => {
    text = bytes;
  });
  if (text === null) throw new FormatError(TOO_LARGE);
  return readMarketplace(text, read, { tree, at });
};

/**
 * Reads a marketplace (reference/sources).
 *
 * @param inside its file in a repository; null if there is none, and only plugins in other repositories are read.
 * @throws FormatError if the file as a whole is malformed, or none of its plugins is valid.
 * @throws FetchError
 * @throws ReadMemoryError
 */
export async function readMarketplace(
  text: Buffer,
  read: DerivedRead,
  inside: { readonly tree: GitTree; readonly at: TreeEntry } | null,
): Promise<FormatContent> {
  const { filter, memory } = read;
  const namespace = inside ? namespaceFor(read.namespace, inside.tree) : read.namespace;
  if (namespace === null)
    throw new FormatError('The plugins of a marketplace need a namespace: set one in file.namespace');
  if (text.length > MAX_MARKETPLACE_BYTES) throw new FormatError(TOO_LARGE);
  const marketplace = parsed(text);
  memory.add(text.length + heapOverhead(marketplace));
  const repository = inside && { address: inside.tree.repository, commit: inside.tree.commit };
  const place = placeOfMarketplace(inside?.at.path ?? '', marketplace, repository);
  const given = pluginsIn(marketplace);
  const plugins = given.map((entry) => listedPlugin(entry, place));
  const local =
    inside && (await LocalPlugins.read(inside.tree, plugins.filter(isLocal), { ...read, namespace }));
  const remote = await RemotePlugins.read(plugins.filter(isRemote), { ...read, namespace });
  const validator = new EntryValidator(filter, { memory, onDuplicate: { skipBecause: NAME_TAKEN } });
  const entries = new DerivedEntries('plugin', validator, filter);
  for (const [index, plugin] of plugins.entries()) {
    await pauseIfDue();
    const made =
      typeof plugin === 'string'
        ? plugin
        : isRemote(plugin)
          ? remote.made(plugin)
          : (local?.made(plugin) ?? '');
    if (typeof made === 'string') entries.skip({ index }, shown(given[index]), made);
    else entries.add({ index }, made.document, made.folder);
  }
  const none = validator.noneIsValid();
  if (none !== null) throw new FormatError(none);
  return { ...validator.result(), folders: entries.folders, isIncomplete: remote.isIncomplete };
}

function isLocal(plugin: ReturnType<typeof listedPlugin>): plugin is PluginEntry<LocalPlugin> {
  return typeof plugin !== 'string' && plugin.source.kind === 'local';
}

function isRemote(plugin: ReturnType<typeof listedPlugin>): plugin is PluginEntry<RemotePlugin> {
  return typeof plugin !== 'string' && plugin.source.kind === 'remote';
}

function parsed(text: Buffer): unknown {
  if (isDeeperThan(text, MAX_DEPTH))
    throw new FormatError(`The marketplace is nested more than ${MAX_DEPTH} levels deep`);
  return withFormatErrors(() => parseText(text.toString().replace(/^\ufeff/, ''), 'the marketplace'));
}

function pluginsIn(marketplace: unknown): readonly unknown[] {
  const plugins: unknown = isObject(marketplace) ? marketplace['plugins'] : undefined;
  if (!Array.isArray(plugins)) throw new FormatError('The file is not a marketplace: plugins must be a list');
  if (plugins.length > MAX_DERIVED)
    throw new FormatError(`The marketplace has more than ${MAX_DERIVED} plugins, the maximum`);
  return plugins;
}

/** Returns the name and version that a skipped entry states. */
function shown(entry: unknown): Record<string, unknown> {
  return isObject(entry) ? { name: entry['name'], version: entry['version'] } : {};
}
