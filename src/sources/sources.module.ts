import { Global, Module } from '@nestjs/common';
import { ReachableSources } from '../app/claims.interceptor.js';
import { SourcesController } from './sources.controller.js';
import { SourcesQueries } from './sources.queries.js';
import { SourcesService } from './sources.service.js';

/** Global because the ClaimsInterceptor of every admin route reaches sources through the service provided here. */
@Global()
@Module({
  controllers: [SourcesController],
  providers: [SourcesQueries, SourcesService, { provide: ReachableSources, useExisting: SourcesService }],
  exports: [SourcesQueries, SourcesService, ReachableSources],
})
export class SourcesModule {}
