import { Controller, Get, Param, Query, type Type } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { AnyCaller } from '../auth/route-access.js';
import { Loaded, RegistryRoute } from '../auth/route-resource.js';
import { BARE_TYPES, type BareType, ENTRY_TYPES } from '../documents/entry-types.js';
import type { RegistryAccess } from '../views/view.js';
import { ApiErrors } from '../http/openapi/api-errors.js';
import type { CachedJson } from '../http/json-answers.js';
import { answersOf, nounOf } from './bare-documents.js';
import { CatalogService } from './catalog.service.js';
import { BareListQuery, VersionQuery, VersionsQuery } from './list-query.dto.js';
import { bareListRequest, includesDeleted, versionsRequest } from './pages/list-request.js';

/** The routes of one type of entries that lists show as bare documents, such as skills. */
function controllerOf(type: BareType): Type {
  const { listKey, path } = ENTRY_TYPES[type];
  const noun = nounOf(type);
  const answers = answersOf(type);

  @ApiTags('catalog')
  @ApiParam({ name: 'registry', description: 'A name from GET /registry' })
  @Controller([`registry/:registry/v0.1/${path}`, `registry/:registry/v0/${path}`])
  @AnyCaller()
  @RegistryRoute()
  @ApiErrors('registry_not_found', 'malformed_path', 'database_unavailable', 'database_timeout')
  class BareEntriesController {
    constructor(private readonly catalog: CatalogService) {}

    @Get()
    @ApiOperation({ summary: `The ${listKey} in order of name, each with its latest version` })
    @ApiOkResponse({ type: answers.list })
    @ApiErrors('invalid_parameter', 'invalid_cursor', 'too_many_requests', 'search_too_broad', 'overloaded')
    list(@Loaded() access: RegistryAccess, @Query() query: BareListQuery): Promise<CachedJson> {
      return this.catalog.list(access, type, bareListRequest(type, query));
    }

    @Get(':namespace/:name')
    @ApiOperation({ summary: `The latest version of one ${type}` })
    @ApiOkResponse({ type: answers.document })
    @ApiErrors('invalid_parameter', 'entry_not_found')
    latest(
      @Loaded() access: RegistryAccess,
      @Param('namespace') namespace: string,
      @Param('name') name: string,
      @Query() query: VersionQuery,
    ): Promise<CachedJson> {
      return this.catalog.version(access, type, `${namespace}/${name}`, 'latest', includesDeleted(query));
    }

    @Get(':namespace/:name/versions')
    @ApiOperation({ summary: `Every version of one ${type}, newest first` })
    @ApiOkResponse({ type: answers.list })
    @ApiErrors('invalid_parameter', 'invalid_cursor', 'entry_not_found')
    versions(
      @Loaded() access: RegistryAccess,
      @Param('namespace') namespace: string,
      @Param('name') name: string,
      @Query() query: VersionsQuery,
    ): Promise<CachedJson> {
      const entry = `${namespace}/${name}`;
      return this.catalog.versions(access, type, entry, versionsRequest(entry, query));
    }

    @Get(':namespace/:name/versions/:version')
    @ApiOperation({ summary: `One version of one ${type}` })
    @ApiParam({ name: 'version', description: '`latest`, or one exact version', example: 'latest' })
    @ApiOkResponse({ type: answers.document })
    @ApiErrors('invalid_parameter', 'entry_not_found', 'version_not_found')
    version(
      @Loaded() access: RegistryAccess,
      @Param('namespace') namespace: string,
      @Param('name') name: string,
      @Param('version') version: string,
      @Query() query: VersionQuery,
    ): Promise<CachedJson> {
      return this.catalog.version(access, type, `${namespace}/${name}`, version, includesDeleted(query));
    }
  }

  // Two controllers of one name would have the same operations in OpenAPI.
  Object.defineProperty(BareEntriesController, 'name', { value: `${noun}sController` });
  return BareEntriesController;
}

export const BARE_ENTRY_CONTROLLERS: readonly Type[] = BARE_TYPES.map(controllerOf);
