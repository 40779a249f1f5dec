import { Controller, Get, Param } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { RequiresRole } from '../auth/route-access.js';
import { ApiErrors } from '../http/api-errors.js';
import { SourceAnswer, SourceList } from './sources.responses.js';
import { SourcesService } from './sources.service.js';

@ApiTags('sources')
@Controller('v1/sources')
@RequiresRole('manageSources')
@ApiErrors('database_unavailable')
export class SourcesController {
  constructor(private readonly sources: SourcesService) {}

  @Get()
  @ApiOperation({ summary: 'The sources, each with the state of its last sync' })
  @ApiOkResponse({ type: SourceList })
  list(): Promise<SourceList> {
    return this.sources.list();
  }

  @Get(':name')
  @ApiOperation({ summary: 'One source; `sync.skipped` lists the entries left out, with the reasons' })
  @ApiOkResponse({ type: SourceAnswer })
  @ApiErrors('source_not_found')
  get(@Param('name') name: string): Promise<SourceAnswer> {
    return this.sources.get(name);
  }
}
