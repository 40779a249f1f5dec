import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { AnyCaller, Audited, RegistryRoute } from '../auth/route.js';
import type { CachedJson } from '../http/json-answers.js';
import { ApiErrors, ApiOkWithEtag } from '../http/openapi/api-answers.js';
import type { RegistryAccess } from '../visibility/registry-views.js';
import { CatalogAccess, CatalogRead } from './catalog-read.js';
import { ServerItem, ServerList } from './catalog.responses.js';
import { CatalogService } from './catalog.service.js';
import { ServerListQuery, VersionQuery, VersionsQuery } from './list-query.dto.js';
import { includesDeleted, serverListRequest, versionsRequest } from './list-request.js';

const NAME = {
  name: 'name',
  type: String,
  description: 'Name of the server, with its slash encoded as %2F',
  example: 'io.github.example/weather',
};
const VERSION = {
  name: 'version',
  type: String,
  description: '`latest` or an exact version',
  example: 'latest',
};

@ApiTags('catalog')
@Controller(['registry/:registry/v0.1/servers', 'registry/:registry/v0/servers'])
@AnyCaller()
@RegistryRoute()
@Audited('catalog.read', 'server')
export class ServersController {
  constructor(private readonly catalog: CatalogService) {}

  @Get()
  @CatalogRead()
  @ApiOperation({
    operationId: 'listServers',
    summary: 'Server versions by name, newest version first',
  })
  @ApiOkWithEtag(ServerList)
  @ApiErrors('invalid_parameter', 'invalid_cursor', 'search_too_broad')
  list(@CatalogAccess() access: RegistryAccess, @Query() query: ServerListQuery): Promise<CachedJson> {
    return this.catalog.list(access, 'server', serverListRequest(query));
  }

  @Get(':name/versions')
  @CatalogRead()
  @ApiOperation({ operationId: 'listServerVersions', summary: 'All versions of a server, newest first' })
  @ApiParam(NAME)
  @ApiOkWithEtag(ServerList)
  @ApiErrors('invalid_parameter', 'invalid_cursor', 'entry_not_found')
  versions(
    @CatalogAccess() access: RegistryAccess,
    @Param('name') name: string,
    @Query() query: VersionsQuery,
  ): Promise<CachedJson> {
    return this.catalog.versions(access, 'server', name, versionsRequest(name, query));
  }

  @Get(':name/versions/:version')
  @CatalogRead()
  @ApiOperation({ operationId: 'getServerVersion', summary: 'One version of a server' })
  @ApiParam(NAME)
  @ApiParam(VERSION)
  @ApiOkWithEtag(ServerItem)
  @ApiErrors('invalid_parameter', 'entry_not_found', 'version_not_found')
  version(
    @CatalogAccess() access: RegistryAccess,
    @Param('name') name: string,
    @Param('version') version: string,
    @Query() query: VersionQuery,
  ): Promise<CachedJson> {
    return this.catalog.version(access, 'server', name, version, includesDeleted(query));
  }
}
