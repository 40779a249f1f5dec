import { Body, Controller, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type Caller, CurrentCaller } from '../auth/caller.js';
import { Loaded, Route } from '../auth/route.js';
import { JsonText } from '../http/json-answers.js';
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
import { SourceListParameters } from './sources.dto.js';
import { SourceAnswer, SourceKinds, SourceList } from './sources.responses.js';
import { SourcesService } from './sources.service.js';

/** Errors for the settings of a source, whether they would be stored, compared or tested. */
export const SOURCE_SETTINGS_ERRORS = [
  'path_not_allowed',
  'namespace_not_allowed',
  'too_many_claims',
  'claims_required',
  'claims_not_subset',
  'settings_too_long',
] as const;

@ApiTags('sources')
@Controller('v1/sources')
export class SourcesController {
  constructor(private readonly sources: SourcesService) {}

  @Route('GET', '', {
    access: 'manageSources',
    audit: 'source.list',
    operationId: 'listSources',
    summary: 'Lists the sources the caller may manage, each with its sync state',
    answer: SourceList,
    errors: ['invalid_parameter', 'invalid_cursor'],
  })
  list(@CurrentCaller() caller: Caller, @Query() query: SourceListParameters): Promise<JsonText> {
    return this.sources.list(caller, query);
  }

  @Route('GET', ':name', {
    access: 'manageSources',
    audit: 'source.read',
    loads: { resource: 'source', use: 'read' },
    operationId: 'getSource',
    summary: 'Returns one source; `sync.skipped` lists skipped entries with reasons',
    answer: SourceAnswer,
    errors: [],
  })
  get(@Loaded() source: Source): JsonText {
    return this.sources.get(source);
  }

  @Route('PUT', ':name', {
    access: 'manageSources',
    audit: 'source.update',
    loads: { resource: 'source', use: 'put' },
    body: { type: SourceSettings, examples: SOURCE_EXAMPLES },
    operationId: 'putSource',
    summary: 'Creates a source or replaces its settings; the kind cannot change',
    answer: SourceAnswer,
    ifMatch: true,
    errors: [
      'invalid_name',
      'kind_immutable',
      ...SOURCE_SETTINGS_ERRORS,
      'managed_source_exists',
      'too_many_sources',
    ],
  })
  put(
    @CurrentCaller() caller: Caller,
    @Param('name', DnsNamePipe) name: string,
    @Body() body: SourceBody,
    @RequestPreconditions() preconditions: Preconditions,
    @CurrentRequest() context: RequestContext,
  ): Promise<JsonText> {
    return this.sources.put(caller, name, body, preconditions, context);
  }

  @Route('DELETE', ':name', {
    access: 'manageSources',
    audit: 'source.delete',
    loads: { resource: 'source', use: 'change' },
    operationId: 'deleteSource',
    summary: 'Deletes a source and its entries',
    answer: null,
    ifMatch: true,
    errors: ['source_in_use'],
  })
  delete(
    @CurrentCaller() caller: Caller,
    @Param('name') name: string,
    @RequestPreconditions() preconditions: Preconditions,
    @CurrentRequest() context: RequestContext,
  ): Promise<void> {
    return this.sources.remove(caller, name, preconditions, context);
  }

  @Route('POST', ':name/sync', {
    access: 'manageSources',
    audit: 'source.sync',
    loads: { resource: 'source', use: 'read' },
    body: { type: SyncRequest, isOptional: true },
    status: 202,
    operationId: 'syncSource',
    summary: 'Requests a sync now; `allowShrink` disables the shrink guard for it',
    answer: SourceAnswer,
    errors: ['not_synced'],
  })
  sync(
    @CurrentCaller() caller: Caller,
    @Loaded() source: Source,
    @Body() request: SyncRequest,
    @CurrentRequest() context: RequestContext,
  ): Promise<JsonText> {
    return this.sources.sync(caller, source, request, context);
  }
}

@ApiTags('sources')
@Controller('v1/source-kinds')
export class SourceKindsController {
  constructor(private readonly sources: SourcesService) {}

  @Route('GET', '', {
    access: 'manageSources',
    audit: 'source.list',
    operationId: 'getSourceKinds',
    summary: 'Returns the kinds of sources that the caller may create on this server',
    answer: SourceKinds,
    errors: [],
  })
  async get(@CurrentCaller() caller: Caller): Promise<JsonText> {
    return new JsonText(JSON.stringify(await this.sources.kinds(caller)));
  }
}
