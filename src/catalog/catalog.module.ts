import { Module } from '@nestjs/common';
import { CatalogQueries } from './pages/catalog.queries.js';
import { CatalogService } from './catalog.service.js';
import { PageCache } from './page-cache.js';
import { ReadOnlyController } from './read-only.controller.js';
import { ServersController } from './servers.controller.js';
import { SkillsController } from './skills.controller.js';

/** The consumer side as a whole: what the MCP Registry v0.1 API shows of a registry. */
@Module({
  controllers: [ServersController, SkillsController, ReadOnlyController],
  providers: [CatalogQueries, CatalogService, PageCache],
})
export class CatalogModule {}
