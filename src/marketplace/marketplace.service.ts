import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { ContentStore } from '../content/content-store.queries.js';
import { ApiError } from '../http/errors.js';
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
export class MarketplaceService {
  private readonly plugins = new LRUCache<string, readonly MarketplacePlugin[]>({
    maxSize: MAX_CACHED_FILES,
    sizeCalculation: (plugins) => plugins.reduce((sum, { files }) => sum + files.length, 1),
  });

  constructor(
    private readonly entries: MarketplaceEntries,
    private readonly content: ContentStore,
    private readonly repositories: RepositoryCache,
  ) {}

  /**
   * Returns the marketplace file for clients that fetch the plugins from a repository.
   *
   * @param repository The URL of the repository for this caller.
   * @throws ApiError 404 `marketplace_not_found`.
   */
  async file(access: VerifiedAccess, repository: string): Promise<object> {
    const settings = settingsOf(access);
    const { plugins } = await this.find(access);
    return remoteMarketplace(settings, await plugins(), repository);
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
        if (!manifests.has(digest)) manifests.set(digest, await this.textOf(digest));
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

  private async textOf(digest: string): Promise<string> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.content.read(digest)) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  }
}

function settingsOf({ marketplace }: VerifiedAccess) {
  if (!marketplace) throw new ApiError('marketplace_not_found');
  return marketplace;
}
