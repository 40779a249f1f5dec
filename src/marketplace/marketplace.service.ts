import { createHash } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import { PluginConfigs } from '../catalog/client-config.controller.js';
import type { ClientName } from '../client-config/client-config.js';
import { PLUGIN_CLIENTS, pluginSettings } from '../client-config/plugin-settings.js';
import { authenticationConfig } from '../config/slices.js';
import { ContentStore } from '../content/content-store.queries.js';
import { ApiError } from '../http/errors.js';
import { CachedJson } from '../http/json-answers.js';
import { requestedHost } from '../http/requested-host.js';
import type { VerifiedAccess } from '../visibility/registry-views.js';
import { MarketplaceEntries } from './marketplace-entries.queries.js';
import {
  manifestsIn,
  type MarketplacePlugin,
  marketplaceTree,
  pluginsOf,
  remoteMarketplace,
} from './plugin-tree.js';
import { RepositoryCache, type RepositoryLease } from './repository-cache.js';

/** The path of the repository below the registry's. */
export const REPOSITORY = 'git/marketplace.git';

/** Part of every key: changes with the format of the tree. */
const FORMAT = 1;
/** Files of cached marketplaces; one takes about 300 bytes. */
const MAX_CACHED_FILES = 200_000;

/** The marketplace of a view. */
interface Marketplace {
  /** Equal for equal marketplaces. */
  readonly key: string;
  plugins(): Promise<readonly MarketplacePlugin[]>;
}

/** Serves the plugins and skills that a caller sees as a marketplace (contract §13). */
@Injectable()
export class MarketplaceService extends PluginConfigs {
  private readonly plugins = new LRUCache<string, readonly MarketplacePlugin[]>({
    maxSize: MAX_CACHED_FILES,
    sizeCalculation: (plugins) => plugins.reduce((sum, { files }) => sum + files.length, 1),
  });

  constructor(
    private readonly entries: MarketplaceEntries,
    private readonly content: ContentStore,
    private readonly repositories: RepositoryCache,
    @Inject(authenticationConfig.KEY)
    private readonly authentication: ConfigType<typeof authenticationConfig>,
  ) {
    super();
  }

  /**
   * Returns the marketplace file for clients that fetch the plugins from the repository.
   *
   * @throws ApiError 404 `marketplace_not_found`.
   */
  async file(access: VerifiedAccess, request: Request): Promise<object> {
    const settings = settingsOf(access);
    const { plugins } = await this.find(access);
    return remoteMarketplace(settings, await plugins(), this.repositoryFor(access, request));
  }

  override async pluginConfig(
    access: VerifiedAccess,
    client: ClientName,
    request: Request,
  ): Promise<CachedJson> {
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
   * Returns the repository of the caller's view.
   *
   * @throws ApiError 404 `marketplace_not_found`, 507 `marketplace_too_large`.
   */
  async repository(access: VerifiedAccess): Promise<RepositoryLease> {
    const settings = settingsOf(access);
    const { key, plugins } = await this.find(access);
    const files = async () => {
      const shown = await plugins();
      const manifests = new Map<string, string>();
      for (const { digest } of manifestsIn(shown))
        if (!manifests.has(digest)) manifests.set(digest, await text(this.content.read(digest)));
      return marketplaceTree(settings, shown, manifests);
    };
    const plan = { key, files, read: (digest: string) => this.content.read(digest) };
    return this.repositories.lease(plan, access.client.callerKey(access.caller));
  }

  private async find(access: VerifiedAccess): Promise<Marketplace> {
    const versions = await this.entries.versions(access, ['plugin', 'skill']);
    // Without the ids, which differ between databases.
    const contents = versions.map((each) => [each.type, each.name, each.version, each.document, each.tree]);
    const key = createHash('sha256')
      .update(JSON.stringify([FORMAT, settingsOf(access), contents]))
      .digest('hex');
    const plugins = async () => {
      const cached = this.plugins.get(key);
      if (cached) return cached;
      const found = pluginsOf(await this.entries.entries(versions));
      this.plugins.set(key, found);
      return found;
    };
    return { key, plugins };
  }
}

function settingsOf({ marketplace }: VerifiedAccess) {
  if (!marketplace) throw new ApiError('marketplace_not_found');
  return marketplace;
}
