import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { AnyCaller } from '../auth/route-access.js';
import { Loaded, RegistryRoute } from '../auth/route-resource.js';
import type { RegistryAccess } from '../views/view.js';
import { ApiErrors } from '../http/openapi/api-errors.js';
import type { CachedJson } from '../http/json-answers.js';
import { CatalogService } from './catalog.service.js';
import { SkillDocument, SkillList } from './catalog.responses.js';
import { SkillListQuery, VersionQuery, VersionsQuery } from './list-query.dto.js';
import { includesDeleted, skillListRequest, versionsRequest } from './pages/list-request.js';

const SKILLS = 'x/dev.toolhive/skills';

@ApiTags('catalog')
@ApiParam({ name: 'registry', description: 'A name from GET /registry' })
@Controller([`registry/:registry/v0.1/${SKILLS}`, `registry/:registry/v0/${SKILLS}`])
@AnyCaller()
@RegistryRoute()
@ApiErrors('registry_not_found', 'malformed_path', 'database_unavailable', 'database_timeout')
export class SkillsController {
  constructor(private readonly catalog: CatalogService) {}

  @Get()
  @ApiOperation({ summary: 'Skills in order of name, each with its latest version' })
  @ApiOkResponse({ type: SkillList })
  @ApiErrors('invalid_parameter', 'invalid_cursor', 'too_many_requests', 'search_too_broad', 'overloaded')
  list(@Loaded() access: RegistryAccess, @Query() query: SkillListQuery): Promise<CachedJson> {
    return this.catalog.list(access, 'skill', skillListRequest(query));
  }

  @Get(':namespace/:name')
  @ApiOperation({ summary: 'The latest version of one skill' })
  @ApiOkResponse({ type: SkillDocument })
  @ApiErrors('invalid_parameter', 'entry_not_found')
  latest(
    @Loaded() access: RegistryAccess,
    @Param('namespace') namespace: string,
    @Param('name') name: string,
    @Query() query: VersionQuery,
  ): Promise<CachedJson> {
    return this.catalog.version(access, 'skill', `${namespace}/${name}`, 'latest', includesDeleted(query));
  }

  @Get(':namespace/:name/versions')
  @ApiOperation({ summary: 'Every version of one skill, newest first' })
  @ApiOkResponse({ type: SkillList })
  @ApiErrors('invalid_parameter', 'invalid_cursor', 'entry_not_found')
  versions(
    @Loaded() access: RegistryAccess,
    @Param('namespace') namespace: string,
    @Param('name') name: string,
    @Query() query: VersionsQuery,
  ): Promise<CachedJson> {
    const skill = `${namespace}/${name}`;
    return this.catalog.versions(access, 'skill', skill, versionsRequest(skill, query));
  }

  @Get(':namespace/:name/versions/:version')
  @ApiOperation({ summary: 'One version of one skill' })
  @ApiParam({ name: 'version', description: '`latest`, or one exact version', example: 'latest' })
  @ApiOkResponse({ type: SkillDocument })
  @ApiErrors('invalid_parameter', 'entry_not_found', 'version_not_found')
  version(
    @Loaded() access: RegistryAccess,
    @Param('namespace') namespace: string,
    @Param('name') name: string,
    @Param('version') version: string,
    @Query() query: VersionQuery,
  ): Promise<CachedJson> {
    return this.catalog.version(access, 'skill', `${namespace}/${name}`, version, includesDeleted(query));
  }
}
