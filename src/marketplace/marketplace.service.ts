import { createHash } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import type { Request } from 'express';
import type { ClientName } from '../client-config/client-config.js';
import { PLUGIN_CLIENTS, pluginSettings } from '../client-config/plugin-settings.js';
import { authenticationConfig } from '../config/slices.js';
import { ContentStore } from '../content/content-store.queries.js';
import { ApiError } from '../http/errors.js';
import { CachedJson } from '../http/json-answers.js';
import { requestedHost } from '../http/requested-host.js';
import { RegistryViews, type VerifiedAccess } from '../visibility/registry-views.js';
import { Semaphore } from '../limits/semaphore.js';
import {
  manifestsIn,
  type MarketplacePlugin,
  marketplaceTree,
  type Plugin,
  pluginNameOf,
  pluginsOf,
  remoteMarketplace,
} from './plugin-tree.js';
import {
  CACHE_LIMITS,
  RepositoryCache,
  type RepositoryLease,
  type RepositoryPlan,
} from './repository-cache.js';
import { type DescribedVersion, EntriesWithContent } from '../content/entries-with-content.queries.js';

/** The path of the repository below the registry's. */
export const REPOSITORY = 'git/marketplace.git';

/** Part of every key: changes with the format of the tree. */
const FORMAT = 2;
/** Plugins of one marketplace; one takes about 2 KiB. */
const MAX_PLUGINS = 10_000;
/**
 * Limits on what is held in memory to build a repository: characters of paths, and bytes of plugin manifests.
 */
const MAX_PATH_LENGTH = 16 * 1_024 * 1_024;
const MAX_MANIFESTS_BYTES = 4 * 1_024 * 1_024;

/** How long a request waits for its repository: the connection would be closed as idle after 120 s. */
const MAX_WAIT_MS = 90_000;
const STILL_BUILDING = 'The marketplace is still being built: try again shortly';
/** After a longer wait, the caller's view is verified again. */
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
  /** Lists of plugins that are read at once. */
  private readonly reading = new Semaphore(1);

  constructor(
    private readonly entries: EntriesWithContent,
    private readonly views: RegistryViews,
    private readonly content: ContentStore,
    private readonly repositories: RepositoryCache,
    @Inject(authenticationConfig.KEY)
    private readonly authentication: ConfigType<typeof authenticationConfig>,
  ) {}

  /**
   * Returns the marketplace file for clients that fetch the plugins from the repository.
   *
   * @throws ApiError 404 `marketplace_not_found`, 507 `marketplace_too_large`.
   */
  async file(access: VerifiedAccess, request: Request): Promise<object> {
    const settings = settingsOf(access);
    const { plugins } = await this.find(access);
    return remoteMarketplace(settings, await plugins(), this.repositoryFor(access, request));
  }

  /**
   * Returns the settings that install the plugins of a registry.
   *
   * @param client one that has a file for plugins.
   * @throws ApiError 400 `invalid_parameter` for another client, and where the registry has no marketplace.
   */
  async pluginConfig(access: VerifiedAccess, client: ClientName, request: Request): Promise<CachedJson> {
    const { marketplace } = access;
    if (!marketplace)
      throw new ApiError('invalid_parameter', 'form: this registry is not served as a marketplace');
    const { plugins } = await this.find(access);
    const settings = pluginSettings(client, {
      name: marketplace.name,
      repository: this.repositoryFor(access, request),
      plugins: (await plugins()).map(({ pluginName }) => pluginName),
    });
    if (!settings)
      throw new ApiError('invalid_parameter', `form: only ${PLUGIN_CLIENTS.join(', ')} have plugins`);
    return new CachedJson([settings.text], { 'Content-Type': settings.mediaType, 'X-Omitted-Count': '0' });
  }

  /** Returns the URL of the repository for the sender of this request. It contains their key, which nobody else may see. */
  private repositoryFor({ registryName }: VerifiedAccess, request: Request): string {
    const { oauth } = this.authentication;
    const base = oauth?.resourceUrl.replace(/\/+$/, '') ?? `http://${requestedHost(request) ?? 'localhost'}`;
    const key = request.registryKey ? `/k/${request.registryKey.key}` : '';
    return `${base}/registry/${registryName}${key}/${REPOSITORY}`;
  }

  /**
   * Returns the repository of the caller's view, as it is after the wait for the repository.
   *
   * @param gone aborts when the caller no longer waits.
   * @throws ApiError 404 `marketplace_not_found`, 507 `marketplace_too_large`, 503 `overloaded`; as `RegistryViews.verify`.
   */
  async repository(access: VerifiedAccess, gone: AbortSignal): Promise<RepositoryLease> {
    const late = new AbortController();
    const timeout = setTimeout(() => late.abort(new ApiError('overloaded', STILL_BUILDING)), MAX_WAIT_MS);
    const signal = AbortSignal.any([gone, late.signal]);
    const callerKey = access.client.callerKey(access.caller);
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
        const shown: MarketplacePlugin[] = [];
        const size = { files: 0, paths: 0, bytes: 0 };
        for await (const entry of this.entries.withFiles(await plugins())) {
          addSize(size, entry.files);
          shown.push({ ...entry, pluginName: pluginNameOf(entry.name) });
        }
        return marketplaceTree(settings, shown, await this.manifestsOf(shown));
      },
      read: (digest) => this.content.read(digest),
    };
  }

  /** @throws ApiError 507 `marketplace_too_large`. */
  private async manifestsOf(plugins: readonly MarketplacePlugin[]): Promise<Map<string, string>> {
    const manifests = new Map<string, string>();
    let total = 0;
    for (const { digest, bytes } of manifestsIn(plugins)) {
      // Manifests of several plugins with the same digest differ in the repository.
      total += bytes;
      if (total > MAX_MANIFESTS_BYTES) throw new ApiError('marketplace_too_large');
      if (!manifests.has(digest)) manifests.set(digest, await text(this.content.read(digest)));
    }
    return manifests;
  }

  private async find(access: VerifiedAccess): Promise<Marketplace> {
    const versions = await this.entries.versions(access, {
      types: ['plugin', 'skill'],
      limit: MAX_PLUGINS + 1,
    });
    if (versions.length > MAX_PLUGINS) throw new ApiError('marketplace_too_large');
    // Without the ids, which differ between databases.
    const contents = versions.map((each) => [each.type, each.name, each.version, each.document, each.tree]);
    const key = createHash('sha256')
      .update(JSON.stringify([FORMAT, settingsOf(access), contents]))
      .digest('hex');
    const callerKey = access.client.callerKey(access.caller);
    const plugins = () =>
      this.reading.run(callerKey, undefined, async () => pluginsOf(await this.entries.described(versions)));
    return { key, plugins };
  }
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
