import { Controller, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { CachedJson } from '../http/json-answers.js';
import { CatalogAccess, CatalogRead, type RegistryAccess } from '../visibility/registry-views.js';
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
export class ServersController {
  constructor(private readonly catalog: CatalogService) {}

  @CatalogRead('', 'server', {
    operationId: 'listServers',
    summary: 'Server versions by name, newest version first',
    answer: ServerList,
    errors: ['invalid_parameter', 'invalid_cursor', 'search_too_broad'],
  })
  list(@CatalogAccess() access: RegistryAccess, @Query() query: ServerListQuery): Promise<CachedJson> {
    return this.catalog.list(access, 'server', serverListRequest(query));
  }

  @CatalogRead(':name/versions', 'server', {
    operationId: 'listServerVersions',
    summary: 'All versions of a server, newest first',
    parameters: [NAME],
    answer: ServerList,
    errors: ['invalid_parameter', 'invalid_cursor', 'entry_not_found'],
  })
  versions(
    @CatalogAccess() access: RegistryAccess,
    @Param('name') name: string,
    @Query() query: VersionsQuery,
  ): Promise<CachedJson> {
    return this.catalog.versions(access, 'server', name, versionsRequest(name, query));
  }

  @CatalogRead(':name/versions/:version', 'server', {
    operationId: 'getServerVersion',
    summary: 'One version of a server',
    parameters: [NAME, VERSION],
    answer: ServerItem,
    errors: ['invalid_parameter', 'entry_not_found', 'version_not_found'],
  })
  version(
    @CatalogAccess() access: RegistryAccess,
    @Param('name') name: string,
    @Param('version') version: string,
    @Query() query: VersionQuery,
  ): Promise<CachedJson> {
    return this.catalog.version(access, 'server', name, version, includesDeleted(query));
  }
}
