import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import type { Request } from 'express';
import { callerKeyOf } from '../auth/caller.js';
import { CatalogService } from '../catalog/catalog.service.js';
import { WithdrawnPlugins } from '../catalog/withdrawn-plugins.queries.js';
import { type ClientName, formsOf } from '../client-config/clients.js';
import {
  type FileForm,
  fileFormsOf,
  type KnownMarketplace,
  managedPlugins,
  PLUGIN_CLIENTS,
  pluginSettings,
} from '../client-config/marketplace-settings.js';
import { authenticationConfig } from '../config/slices.js';
import { ContentStore, type Turn } from '../content/content-store.queries.js';
import { type ContentTreeFile, sortFiles, treeSummaryOf } from '../content/content-tree.js';
import { StreamedZip, zipOf } from '../content/content-zip.js';
import { PoolSemaphores } from '../database/connection-pool.js';
import { pluginNameOf } from '../documents/plugin-name.js';
import { ApiError } from '../http/errors.js';
import { CachedJson, type StreamedJson } from '../http/json-answers.js';
import { requestedHost } from '../http/request-context.js';
import { RegistryViews, type VerifiedAccess } from '../visibility/registry-views.js';
import { Semaphore } from '../limits/semaphore.js';
import { isStorable } from '../validation/storable-text.js';
import type { PluginSourceKind } from './marketplace.dto.js';
import {
  filesOf,
  attributesIn,
  manifestsIn,
  type MarketplacePlugin,
  marketplaceTree,
  type Plugin,
  pluginsOf,
  type PluginTexts,
  remoteMarketplace,
  serversFilesIn,
  withinBytes,
} from './marketplace-tree.js';
import {
  CACHE_LIMITS,
  RepositoryCache,
  type RepositoryLease,
  type RepositoryPlan,
} from './repository-cache.js';
import {
  type ContentType,
  type ContentVersion,
  type DescribedVersion,
  EntriesWithContent,
} from '../content/entries-with-content.queries.js';

/** Paths below the registry's path: the repository, and the plugins as zip files. */
export const REPOSITORY = 'git/marketplace.git';
export const ARCHIVES = 'x/marketplace';

/** Part of every key; must change with the format of the tree. */
const FORMAT = 5;
/** Maximum plugins per marketplace; each takes about 2 KiB. */
const MAX_PLUGINS = 10_000;
/**
 * Limits on the data in memory while a repository is built: characters of paths, bytes of manifests, and bytes of
 * servers files.
 */
const MAX_PATH_LENGTH = 16 * 1_024 * 1_024;
const MAX_MANIFESTS_BYTES = 4 * 1_024 * 1_024;
const MAX_SERVERS_BYTES = 16 * 1_024 * 1_024;
const MAX_ATTRIBUTES_BYTES = 1_024 * 1_024;

/** How long a request waits for its repository. After 120 s, the connection would be closed as idle. */
const MAX_WAIT_MS = 90_000;
const STILL_BUILDING = 'The marketplace is still being built: try again shortly';
/** The caller's view is verified again after a longer wait. */
const MAX_UNVERIFIED_MS = 1_000;

/** The marketplace of a view. */
interface Marketplace {
  /** Equal for equal marketplaces. */
  readonly key: string;
  plugins(): Promise<readonly Plugin<DescribedVersion>[]>;
}

/** Serves the plugins and skills that a caller sees as a marketplace (reference/marketplace). */
@Injectable()
export class MarketplaceService {
  /** Maximum number of plugin lists being read at a time. */
  private readonly reading = new Semaphore(1);

  constructor(
    private readonly entries: EntriesWithContent,
    private readonly views: RegistryViews,
    private readonly content: ContentStore,
    private readonly repositories: RepositoryCache,
    private readonly catalog: CatalogService,
    private readonly withdrawnPlugins: WithdrawnPlugins,
    private readonly semaphores: PoolSemaphores,
    @Inject(authenticationConfig.KEY)
    private readonly authentication: ConfigType<typeof authenticationConfig>,
  ) {}

  /**
   * Returns the marketplace file for clients that fetch plugins one at a time.
   *
   * @param source where they fetch them: `git` from the repository, `archive` as zip files.
   * @throws ApiError 404 `marketplace_not_found`, 507 `marketplace_too_large`.
   */
  async file(access: VerifiedAccess, source: PluginSourceKind, request: Request): Promise<object> {
    const settings = settingsOf(access);
    const { plugins } = await this.find(access);
    const archives = source === 'archive' ? this.urlFor(access, ARCHIVES, request) : null;
    return remoteMarketplace(settings, await plugins(), {
      repository: this.urlFor(access, REPOSITORY, request),
      archives,
    });
  }

  /**
   * Returns a plugin or skill of the marketplace as a zip file, with the files of its directory in the repository.
   *
   * @throws ApiError 404 `marketplace_not_found`, `entry_not_found` or `version_not_found`.
   */
  async archive(
    access: VerifiedAccess,
    { type, name, version }: { readonly type: string; readonly name: string; readonly version: string },
  ): Promise<StreamedZip> {
    settingsOf(access);
    if (!isContentType(type) || !isStorable(name)) throw new ApiError('entry_not_found');
    const verifiedAt = performance.now();
    const find = async (verified: VerifiedAccess) => {
      const [latest] = await this.entries.versions(verified, { types: [type], name, limit: 1 });
      if (!latest) throw new ApiError('entry_not_found');
      if (latest.version !== version) throw new ApiError('version_not_found');
      return latest;
    };
    const found = await find(access);
    const [plugin] = await this.withFiles([found]);
    if (!plugin) throw new ApiError('version_not_found');
    const generated = new Map<string, string>();
    const files = filesOf(plugin, await this.textsFor([plugin])).map((file) => {
      if (!('text' in file)) return file;
      const { path, executable, text: content } = file;
      const digest = createHash('sha256').update(content).digest('hex');
      generated.set(digest, content);
      return { path, executable, digest, bytes: Buffer.byteLength(content) };
    });
    const tree = { ...treeSummaryOf(files), files: sortFiles(files) };
    const { client, caller } = access;
    const key = callerKeyOf(caller, client);
    const turn: Turn = (work) => this.semaphores.reads.run(key, client.abortSignal(), work);
    const read = (digest: string) => {
      const content = generated.get(digest);
      return content === undefined ? this.content.read(digest, turn) : Readable.from([Buffer.from(content)]);
    };
    const verify = async () => find(await this.views.verify(access));
    const zip = this.views.whileAdmitted(access, zipOf(tree, read), verifiedAt, verify);
    return new StreamedZip(tree.digest, zip, client.abortSignal(), key, {});
  }

  /**
   * Returns a client's file: its servers, its lists, its managed settings, or the settings that install the plugins.
   *
   * @param request absent outside a request; the file then contains no key and no address from it.
   * @throws ApiError 400 `invalid_parameter` for a form that the client does not support, and for plugins if the
   *   registry has no marketplace; 507 `marketplace_too_large`.
   */
  async clientFile(
    access: VerifiedAccess,
    { client, form }: { readonly client: ClientName; readonly form: FileForm },
    request?: Request,
  ): Promise<CachedJson | StreamedJson> {
    if (form !== 'plugins' && !formsOf(client).includes(form))
      throw new ApiError(
        'invalid_parameter',
        `form: ${client} supports only ${fileFormsOf(client).join(', ')}`,
      );
    const marketplace = access.marketplace && {
      name: access.marketplace.name,
      repository: this.urlFor(access, REPOSITORY, request),
    };
    if (form === 'plugins') return this.pluginConfig(access, client, marketplace);
    if (!marketplace) return this.catalog.clientConfig(access, { client, form });
    const policy = { marketplace: marketplace.name };
    if (form !== 'managed') return this.catalog.clientConfig(access, { client, form }, policy);
    const settings = managedPlugins(client, marketplace, await this.withdrawn(access));
    return this.catalog.clientConfig(access, { client, form }, { ...policy, settings });
  }

  private async pluginConfig(
    access: VerifiedAccess,
    client: ClientName,
    marketplace: KnownMarketplace | null | undefined,
  ): Promise<CachedJson> {
    if (!marketplace)
      throw new ApiError('invalid_parameter', 'form: this registry is not served as a marketplace');
    const { plugins } = await this.find(access);
    const names = (await plugins()).map(({ pluginName }) => pluginName);
    const settings = pluginSettings(client, marketplace, names);
    if (!settings)
      throw new ApiError('invalid_parameter', `form: only ${PLUGIN_CLIENTS.join(', ')} support plugins`);
    return new CachedJson([settings.text], { 'Content-Type': settings.mediaType, 'X-Omitted-Count': '0' });
  }

  /** Returns the names of plugins that clients may have installed and that are no longer in the marketplace. */
  private async withdrawn(access: VerifiedAccess): Promise<string[]> {
    const names = new Set((await this.withdrawnPlugins.namesFor(access)).map(pluginNameOf));
    if (names.size === 0) return [];
    for (const { name } of await this.entries.versions(access, {
      types: ['plugin', 'skill'],
      limit: MAX_PLUGINS,
    }))
      names.delete(pluginNameOf(name));
    return [...names].sort();
  }

  /**
   * Returns a URL below the registry's URL for the sender of this request. It contains their key, which nobody else may
   * see.
   */
  private urlFor({ registryName }: VerifiedAccess, path: string, request?: Request): string {
    const { oauth } = this.authentication;
    const host = (request && requestedHost(request)) ?? 'localhost';
    const base = oauth?.resourceUrl.replace(/\/+$/, '') ?? `http://${host}`;
    const key = request?.registryKey ? `/k/${request.registryKey.key}` : '';
    return `${base}/registry/${registryName}${key}/${path}`;
  }

  /**
   * Returns the repository of the caller's view, which is determined after the wait for the repository.
   *
   * @param gone aborts when the caller no longer waits.
   * @throws ApiError 404 `marketplace_not_found`, 507 `marketplace_too_large`, 503 `overloaded`; as
   *   `RegistryViews.verify`.
   */
  async repository(access: VerifiedAccess, gone: AbortSignal): Promise<RepositoryLease> {
    const late = new AbortController();
    const timeout = setTimeout(() => late.abort(new ApiError('overloaded', STILL_BUILDING)), MAX_WAIT_MS);
    const signal = AbortSignal.any([gone, late.signal]);
    const callerKey = callerKeyOf(access.caller, access.client);
    let [current, plan] = [access, await this.planFor(access)];
    try {
      for (;;) {
        const begun = performance.now();
        const lease = await this.repositories.lease(plan, callerKey, signal);
        if (performance.now() - begun < MAX_UNVERIFIED_MS) return lease;
        lease.release();
        current = await this.views.verify(current);
        plan = await this.planFor(current);
      }
    } finally {
      clearTimeout(timeout);
    }
  }

  private async planFor(access: VerifiedAccess): Promise<RepositoryPlan> {
    const settings = settingsOf(access);
    const { key, plugins } = await this.find(access);
    return {
      key,
      files: async () => {
        const shown = await this.withFiles(await plugins());
        return marketplaceTree(settings, shown, await this.textsFor(shown));
      },
      read: (digest) => this.content.read(digest),
    };
  }

  /** @throws ApiError 507 `marketplace_too_large`. */
  private async withFiles(versions: readonly ContentVersion[]): Promise<MarketplacePlugin[]> {
    const plugins: MarketplacePlugin[] = [];
    const size = { files: 0, paths: 0, bytes: 0 };
    for await (const entry of this.entries.withFiles(versions)) {
      addSize(size, entry.files);
      plugins.push({ ...entry, pluginName: pluginNameOf(entry.name) });
    }
    return plugins;
  }

  /** Returns the texts that depend on the plugin's name or are translated, within the limits. */
  private async textsFor(plugins: readonly MarketplacePlugin[]): Promise<PluginTexts> {
    const manifests = await this.textsOf(manifestsIn(plugins), MAX_MANIFESTS_BYTES);
    const servers = await this.textsOf(serversFilesIn(plugins), MAX_SERVERS_BYTES);
    const attributes = await this.textsOf(attributesIn(plugins), MAX_ATTRIBUTES_BYTES);
    return { manifests, servers, attributes };
  }

  private async textsOf(files: readonly ContentTreeFile[], maxBytes: number): Promise<Map<string, string>> {
    const texts = new Map<string, string>();
    for (const digest of withinBytes(files, maxBytes))
      texts.set(digest, await text(this.content.read(digest)));
    return texts;
  }

  private async find(access: VerifiedAccess): Promise<Marketplace> {
    const versions = await this.entries.versions(access, {
      types: ['plugin', 'skill'],
      limit: MAX_PLUGINS + 1,
    });
    if (versions.length > MAX_PLUGINS) throw new ApiError('marketplace_too_large');
    // Omits the IDs: they differ between databases, and equal content must give the same key.
    const contents = versions.map((each) => [each.type, each.name, each.version, each.document, each.tree]);
    const key = createHash('sha256')
      .update(JSON.stringify([FORMAT, settingsOf(access), contents]))
      .digest('hex');
    const callerKey = callerKeyOf(access.caller, access.client);
    const plugins = () =>
      this.reading.run(callerKey, undefined, async () => pluginsOf(await this.entries.described(versions)));
    return { key, plugins };
  }
}

function isContentType(type: string): type is ContentType {
  return type === 'plugin' || type === 'skill';
}

/** @throws ApiError 507 `marketplace_too_large`. */
function addSize(
  size: { files: number; paths: number; bytes: number },
  files: MarketplacePlugin['files'],
): void {
  size.files += files.length;
  for (const { path, bytes } of files) {
    size.paths += path.length;
    size.bytes += bytes;
  }
  if (size.files > CACHE_LIMITS.files || size.paths > MAX_PATH_LENGTH || size.bytes > CACHE_LIMITS.bytes)
    throw new ApiError('marketplace_too_large');
}

function settingsOf({ marketplace }: VerifiedAccess) {
  if (!marketplace) throw new ApiError('marketplace_not_found');
  return marketplace;
}
