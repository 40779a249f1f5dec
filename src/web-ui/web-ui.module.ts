import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { AuthzModule } from '../authz/authz.module.js';
import { CatalogModule } from '../catalog/catalog.module.js';
import { IconCache } from './icon-cache.js';
import { IconsController } from './icons.controller.js';
import { builtPage, PAGE_FILES } from './web-ui-files.js';
import { WebUiController } from './web-ui.controller.js';

/** This module is not imported when the web UI is disabled. */
@Module({
  imports: [AuthModule, AuthzModule, CatalogModule],
  controllers: [WebUiController, IconsController],
  providers: [IconCache, { provide: PAGE_FILES, useFactory: builtPage }],
})
export class WebUiModule {}
