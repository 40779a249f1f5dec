import { Module } from '@nestjs/common';
import { CatalogModule } from '../catalog/catalog.module.js';
import { ClientConfigController } from './client-config.controller.js';
import { ContentModule } from '../content/content.module.js';
import { VisibilityModule } from '../visibility/visibility.module.js';
import {
  MarketplaceController,
  PluginArchiveController,
  RepositoryController,
} from './marketplace.controller.js';
import { MarketplaceService } from './marketplace.service.js';
import { CACHE_LIMITS, RepositoryCache } from './repository-cache.js';
import { UploadPack } from './upload-pack.js';

/** Plugin marketplaces (reference/marketplace), and the client configurations, which may contain plugins. */
@Module({
  imports: [CatalogModule, ContentModule, VisibilityModule],
  controllers: [ClientConfigController, MarketplaceController, PluginArchiveController, RepositoryController],
  providers: [
    MarketplaceService,
    UploadPack,
    { provide: RepositoryCache, useFactory: () => new RepositoryCache(CACHE_LIMITS) },
  ],
})
export class MarketplaceModule {}
