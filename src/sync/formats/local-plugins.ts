import { MANIFEST, type VersionFolder } from '../../content/version-folder.js';
import type { GitTree, TreeEntry } from '../../git/git-tree.js';
import { heapOverhead, parseShallow } from '../../json/json-text.js';
import { isObject } from '../../json/json-values.js';
import { pauseIfDue } from '../../limits/time-slice.js';
import { webAddressOf } from '../../source-kinds/git-repository.js';
import { derivedDocument, derivedVersion } from './derived-document.js';
import { FolderFiles, versionFolder } from './folder-files.js';
import type { PluginEntry, LocalPlugin } from './plugin-sources.js';
import {
  configurationFiles,
  isDefinedByEntry,
  isStoredAsIs,
  configuredFiles,
  pluginContent,
} from './plugin-content.js';
import type { DerivedRead } from './source-content.js';

const MANIFESTS = [MANIFEST, 'plugin.json'];
/** Maximum size of a manifest, including a generated one, and of a file that configures hooks or servers. */
const MAX_BYTES = 256 * 1024;
const MAX_DEPTH = 100;
/**
 * Maximum number of files, including those that their configurations reference: for one plugin whose components are
 * listed, and for all such plugins together, because many may share one folder.
 */
const MAX_CHOSEN_FROM = 20_000;
const MAX_COMPARED = 1_000_000;

interface MadePlugin {
  readonly document: Record<string, unknown>;
  readonly folder: VersionFolder;
}

/** The plugins of a marketplace that are in the marketplace's own repository. */
export class LocalPlugins {
  /** Parsed files by the ID of their content; undefined if a file is not a JSON object. */
  private readonly parsed = new Map<string, Readonly<Record<string, unknown>> | undefined>();

  /** The files referenced by configurations of hooks and servers, by the ID of the configuration's content. */
  private readonly named = new Map<string, readonly string[]>();

  private compared = 0;

  private constructor(
    private readonly tree: GitTree,
    private readonly folders: FolderFiles,
    private readonly read: DerivedRead & { readonly namespace: string },
  ) {}

  /** Lists the folders of all plugins and reads their manifests, in one pass. */
  static async read(
    tree: GitTree,
    plugins: readonly PluginEntry<LocalPlugin>[],
    read: DerivedRead & { readonly namespace: string },
  ): Promise<LocalPlugins> {
    const paths = [...new Set(plugins.map(({ source }) => source.path))];
    const local = new LocalPlugins(tree, await FolderFiles.list(tree, paths, read.memory), read);
    const configurations = plugins.flatMap(({ entry, source: { path } }) =>
      configurationFiles(entry).flatMap((name) => local.fileIn(path, name) ?? []),
    );
    const configuring = new Set(configurations.map(({ id }) => id));
    const manifests = plugins.flatMap(({ source: { path } }) =>
      MANIFESTS.flatMap((name) => local.fileIn(path, name) ?? []).slice(0, 1),
    );
    const distinct = new Map([...manifests, ...configurations].map((file) => [file.id, file]));
    await tree.read([...distinct.values()], MAX_BYTES, async ({ id }, bytes) => {
      await pauseIfDue();
      const parsed = bytes ? jsonObject(bytes) : undefined;
      const named = configuring.has(id) ? configuredFiles(parsed) : [];
      read.memory.add((bytes?.length ?? 0) + heapOverhead([parsed, named]));
      local.parsed.set(id, parsed);
      local.named.set(id, named);
    });
    return local;
  }

  /** Returns the document of a plugin, or the reason why it has none. */
  made({ entry, name, source: { path } }: PluginEntry<LocalPlugin>): MadePlugin | string {
    const { tree, folders } = this;
    const { namespace, commits } = this.read;
    const found = folders.at(path);
    if (found?.kind !== 'folder')
      return `source: ${describe(found)} ${path} in commit ${tree.commit.slice(0, 12)}`;
    const manifestFile = MANIFESTS.flatMap((file) => this.fileIn(path, file) ?? [])[0];
    const manifest = manifestFile ? this.parsed.get(manifestFile.id) : null;
    if (manifest === undefined)
      return `${manifestFile?.path}: must be a JSON object of at most ${MAX_BYTES / 1_024} KiB`;
    const folder = this.contentOf(found, entry, manifest);
    if (typeof folder === 'string') return folder;
    const statedBy = isDefinedByEntry(entry) ? [entry, manifest] : [manifest, entry];
    const document = derivedDocument({
      ...{ namespace, name, statedBy, version: derivedVersion(statedBy, found.id) ?? '' },
      package: {
        url: webAddressOf(tree.repository) ?? tree.repository,
        commit: commits.get(folder.key) ?? tree.commit,
        folder: path,
      },
    });
    return { document, folder };
  }

  /** Returns which parts of a plugin are stored, or the reason why none are. */
  private contentOf(
    found: TreeEntry,
    entry: Readonly<Record<string, unknown>>,
    manifest: Readonly<Record<string, unknown>> | null,
  ): VersionFolder | string {
    const files = this.folders.in(found.path);
    if (isStoredAsIs(entry)) return versionFolder(found, files);
    const configurations = new Map(
      configurationFiles(entry).flatMap((name) => {
        const named = this.named.get(this.fileIn(found.path, name)?.id ?? '');
        return named ? [[name, named] as const] : [];
      }),
    );
    const count = [...configurations.values()].reduce((sum, named) => sum + named.length, files.length);
    this.compared += count;
    if (count > MAX_CHOSEN_FROM || this.compared > MAX_COMPARED)
      return `source: has too many files to choose from, at most ${MAX_CHOSEN_FROM} are allowed`;
    const inner = ({ path }: TreeEntry) => path.slice(found.path === '' ? 0 : found.path.length + 1);
    const content = pluginContent({ entry, manifest, paths: files.map(inner), configurations });
    if (Buffer.byteLength(content.manifest) > MAX_BYTES)
      return `its manifest would be larger than ${MAX_BYTES / 1_024} KiB, the maximum`;
    this.read.memory.add(content.manifest.length);
    const kept = files.filter((file) => inner(file) !== MANIFEST && (content.only?.has(inner(file)) ?? true));
    return versionFolder(found, kept, content.manifest, content.only !== null);
  }

  private fileIn(folder: string, name: string): TreeEntry | undefined {
    return this.folders.file(folder === '' ? name : `${folder}/${name}`);
  }
}

function jsonObject(bytes: Buffer): Readonly<Record<string, unknown>> | undefined {
  const value = parseShallow(bytes, MAX_DEPTH);
  return isObject(value) ? value : undefined;
}

function describe(found: TreeEntry | null): string {
  switch (found?.kind) {
    case 'file':
      return 'there is a file instead of a folder at';
    case 'link':
      return 'there is a symbolic link instead of a folder at';
    case 'submodule':
      return 'there is a submodule, which is not supported, at';
    default:
      return 'there is no folder';
  }
}
