import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put, Query, Res } from '@nestjs/common';
import { ApiAcceptedResponse, ApiBody, ApiNoContentResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { type Caller, CurrentCaller } from '../auth/caller.js';
import { Audited, Loaded, RequiresRole, ResourceRoute } from '../auth/route.js';
import { TakesBody } from '../http/body.js';
import type { JsonText } from '../http/json-answers.js';
import { ResourceListParameters } from '../http/lists.dto.js';
import { ApiErrors, ApiIfMatch, ApiOkWithEtag, ApiPutAnswer } from '../http/openapi/api-answers.js';
import { type Preconditions, RequestPreconditions } from '../http/preconditions.js';
import { CurrentRequest, type RequestContext } from '../http/request-context.js';
import { DnsNamePipe } from '../http/validation.pipe.js';
import {
  SOURCE_EXAMPLES,
  SourceBody,
  SourceSettings,
  SyncRequest,
} from '../source-kinds/source-settings.dto.js';
import { Source } from './source.entity.js';
import { SourceAnswer, SourceList } from './sources.responses.js';
import { SourcesService } from './sources.service.js';

@ApiTags('sources')
@Controller('v1/sources')
@RequiresRole('manageSources')
@ApiErrors('database_unavailable', 'database_timeout')
export class SourcesController {
  constructor(private readonly sources: SourcesService) {}

  @Get()
  @Audited('source.list')
  @ApiOperation({
    operationId: 'listSources',
    summary: 'Lists the sources the caller may manage, each with its sync state',
  })
  @ApiOkWithEtag(SourceList)
  @ApiErrors('invalid_parameter', 'invalid_cursor')
  list(@CurrentCaller() caller: Caller, @Query() query: ResourceListParameters): Promise<JsonText> {
    return this.sources.list(caller, query);
  }

  @Get(':name')
  @Audited('source.read')
  @ResourceRoute({ resource: 'source', use: 'read' })
  @ApiOperation({
    operationId: 'getSource',
    summary: 'Returns one source; `sync.skipped` lists skipped entries with reasons',
  })
  @ApiOkWithEtag(SourceAnswer)
  get(@Loaded() source: Source): JsonText {
    return this.sources.get(source);
  }

  @Put(':name')
  @Audited('source.update')
  @TakesBody()
  @ResourceRoute({ resource: 'source', use: 'put' })
  @ApiOperation({
    operationId: 'putSource',
    summary: 'Creates a source or replaces its settings; the kind cannot change',
  })
  @ApiBody({ type: SourceSettings, examples: SOURCE_EXAMPLES })
  @ApiPutAnswer(SourceAnswer)
  @ApiErrors(
    'read_only',
    'storage_full',
    'invalid_name',
    'kind_immutable',
    'path_not_allowed',
    'namespace_not_allowed',
    'too_many_claims',
    'claims_required',
    'claims_not_subset',
    'settings_too_long',
    'managed_source_exists',
    'too_many_sources',
  )
  async put(
    @CurrentCaller() caller: Caller,
    @Param('name', DnsNamePipe) name: string,
    @Body() body: SourceBody,
    @RequestPreconditions() preconditions: Preconditions,
    @CurrentRequest() context: RequestContext,
    @Res({ passthrough: true }) response: Response,
  ): Promise<JsonText> {
    const { created, answer } = await this.sources.put(caller, name, body, preconditions, context);
    response.status(created ? 201 : 200);
    return answer;
  }

  @Delete(':name')
  @Audited('source.delete')
  @HttpCode(204)
  @ResourceRoute({ resource: 'source', use: 'change' })
  @ApiOperation({ operationId: 'deleteSource', summary: 'Deletes a source and its entries' })
  @ApiNoContentResponse()
  @ApiIfMatch()
  @ApiErrors('read_only', 'storage_full', 'source_in_use')
  delete(
    @CurrentCaller() caller: Caller,
    @Param('name') name: string,
    @RequestPreconditions() preconditions: Preconditions,
    @CurrentRequest() context: RequestContext,
  ): Promise<void> {
    return this.sources.remove(caller, name, preconditions, context);
  }

  @Post(':name/sync')
  @Audited('source.sync')
  @HttpCode(202)
  @TakesBody({ isOptional: true })
  @ResourceRoute({ resource: 'source', use: 'read' })
  @ApiOperation({
    operationId: 'syncSource',
    summary: 'Requests a sync now; `allowShrink` disables the shrink guard for it',
  })
  @ApiBody({ type: SyncRequest, required: false })
  @ApiAcceptedResponse({ type: SourceAnswer })
  @ApiErrors('read_only', 'storage_full', 'not_synced')
  sync(
    @CurrentCaller() caller: Caller,
    @Loaded() source: Source,
    @Body() request: SyncRequest,
    @CurrentRequest() context: RequestContext,
  ): Promise<JsonText> {
    return this.sources.sync(caller, source, request, context);
  }
}
