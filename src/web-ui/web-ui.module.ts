import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { builtPage, PAGE_FILES } from './web-ui-files.js';
import { PageController } from './web-ui.controller.js';

/** Not imported when the web UI is disabled. */
@Module({
  imports: [AuthModule],
  controllers: [PageController],
  providers: [{ provide: PAGE_FILES, useFactory: builtPage }],
})
export class PageModule {}
