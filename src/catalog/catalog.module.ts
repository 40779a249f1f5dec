import { Module } from '@nestjs/common';
import { AuthzModule } from '../authz/authz.module.js';
import { RegistriesModule } from '../registries/registries.module.js';
import { VisibilityModule } from '../visibility/visibility.module.js';
import { BARE_ENTRY_CONTROLLERS } from './bare-entries.controller.js';
import { BlockedVersions } from './blocked-versions.queries.js';
import { CatalogService } from './catalog.service.js';
import { PageReader } from './page-reader.js';
import { EntrySearchController } from './entry-search.controller.js';
import { FeedController } from './feed.controller.js';
import { NameTraces } from './version.queries.js';
import { PageCache } from './page-body.js';
import { RegistryListController } from './registry-list.controller.js';
import { SearchIndex } from './search-index/search-index.service.js';
import { SearchLimit } from './search-limits.js';
import { ViewNames } from './view-names.queries.js';
import { ServerSetupController } from './server-setup.controller.js';
import { ServersController } from './servers.controller.js';
import { WithdrawnPlugins } from './withdrawn-plugins.queries.js';

/** The consumer API: MCP Registry v0.1 and this server's extensions. */
@Module({
  imports: [AuthzModule, RegistriesModule, VisibilityModule],
  controllers: [
    RegistryListController,
    ServersController,
    ...BARE_ENTRY_CONTROLLERS,
    EntrySearchController,
    FeedController,
    ServerSetupController,
  ],
  providers: [
    BlockedVersions,
    CatalogService,
    NameTraces,
    PageCache,
    PageReader,
    SearchIndex,
    SearchLimit,
    ViewNames,
    WithdrawnPlugins,
  ],
  exports: [CatalogService, NameTraces, SearchLimit, ViewNames, WithdrawnPlugins],
})
export class CatalogModule {}
