import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Caller } from '../auth/caller.js';
import { CurrentCaller } from '../auth/current-caller.js';
import { RequiresRole } from '../auth/route-access.js';
import { ResourceRoute } from '../app/claims.interceptor.js';
import { AdminListParameters } from '../http/lists/admin-list.dto.js';
import { ApiErrors } from '../http/openapi/api-errors.js';
import type { JsonText } from '../http/json-answers.js';
import { RawEntryList } from './raw-entries.responses.js';
import { RawEntriesService } from './raw-entries.service.js';

@Controller('v1')
@ApiErrors('invalid_parameter', 'invalid_cursor', 'database_unavailable', 'provider_unavailable')
export class RawEntriesController {
  constructor(private readonly entries: RawEntriesService) {}

  @Get('sources/:name/entries')
  @RequiresRole('manageSources')
  @ResourceRoute({ noun: 'source', to: 'read' })
  @ApiTags('sources')
  @ApiOperation({ summary: 'Every entry of a source with its claims and versions' })
  @ApiOkResponse({ type: RawEntryList })
  @ApiErrors('source_not_found')
  ofSource(
    @CurrentCaller() caller: Caller,
    @Param('name') name: string,
    @Query() query: AdminListParameters,
  ): Promise<JsonText> {
    return this.entries.ofSource(caller, name, query);
  }

  @Get('registries/:name/entries')
  @RequiresRole('manageRegistries')
  @ResourceRoute({ noun: 'registry', to: 'read' })
  @ApiTags('registries')
  @ApiOperation({ summary: 'Every entry of the sources of a registry, shadowed ones too' })
  @ApiOkResponse({ type: RawEntryList })
  @ApiErrors('registry_not_found')
  ofRegistry(
    @CurrentCaller() caller: Caller,
    @Param('name') name: string,
    @Query() query: AdminListParameters,
  ): Promise<JsonText> {
    return this.entries.ofRegistry(caller, name, query);
  }
}
