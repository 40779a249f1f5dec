import { Module } from '@nestjs/common';
import { PAGE_FILES, builtPage } from './page-folder.js';
import { PageController } from './page.controller.js';

/** Left out where the page is switched off: then nothing is at its paths. */
@Module({ controllers: [PageController], providers: [{ provide: PAGE_FILES, useFactory: builtPage }] })
export class PageModule {}
