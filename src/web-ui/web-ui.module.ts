import { Module } from '@nestjs/common';
import { builtPage, PAGE_FILES } from './web-ui-files.js';
import { PageController } from './web-ui.controller.js';

/** Left out where the page is switched off: then nothing is at its paths. */
@Module({ controllers: [PageController], providers: [{ provide: PAGE_FILES, useFactory: builtPage }] })
export class PageModule {}
