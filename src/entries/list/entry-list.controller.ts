import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { RequiresRole } from '../../auth/route-access.js';
import { Loaded, MayBeLong, ResourceRoute } from '../../auth/route-resource.js';
import { Registry } from '../../registries/registry.entity.js';
import { Source } from '../../sources/source.entity.js';
import { AdminListParameters } from '../../http/lists/admin-list.dto.js';
import { ApiErrors } from '../../http/openapi/api-errors.js';
import type { JsonText } from '../../http/json-answers.js';
import { EntryList } from './entry-list.responses.js';
import { EntryListService } from './entry-list.service.js';

@Controller('v1')
@ApiErrors('invalid_parameter', 'invalid_cursor', 'database_unavailable', 'provider_unavailable')
export class EntryListController {
  constructor(private readonly entries: EntryListService) {}

  @Get('sources/:name/entries')
  @RequiresRole('manageSources')
  @MayBeLong()
  @ResourceRoute({ resource: 'source', use: 'read' })
  @ApiTags('sources')
  @ApiOperation({ summary: 'Every entry of a source with its claims and versions' })
  @ApiOkResponse({ type: EntryList })
  @ApiErrors('source_not_found')
  ofSource(@Loaded() source: Source, @Query() query: AdminListParameters): Promise<JsonText> {
    return this.entries.ofSource(source, query);
  }

  @Get('registries/:name/entries')
  @RequiresRole('manageRegistries')
  @MayBeLong()
  @ResourceRoute({ resource: 'registry', use: 'read' })
  @ApiTags('registries')
  @ApiOperation({ summary: 'Every entry of the sources of a registry, shadowed ones too' })
  @ApiOkResponse({ type: EntryList })
  @ApiErrors('registry_not_found')
  ofRegistry(@Loaded() registry: Registry, @Query() query: AdminListParameters): Promise<JsonText> {
    return this.entries.ofRegistry(registry, query);
  }
}
