import { Module } from '@nestjs/common';
import { builtPage, PAGE_FILES } from './web-ui-files.js';
import { PageController } from './web-ui.controller.js';

/** Not imported when the web UI is disabled. */
@Module({ controllers: [PageController], providers: [{ provide: PAGE_FILES, useFactory: builtPage }] })
export class PageModule {}
