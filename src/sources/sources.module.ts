import { Module } from '@nestjs/common';
import { SourcesController } from './sources.controller.js';
import { SourcesQueries } from './sources.queries.js';
import { SourcesService } from './sources.service.js';

@Module({ controllers: [SourcesController], providers: [SourcesQueries, SourcesService] })
export class SourcesModule {}
