import { Controller, Get, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { Audited, Loaded, MayBeLong, RequiresRole, ResourceRoute } from '../auth/route.js';
import type { JsonText } from '../http/json-answers.js';
import { AdminListParameters } from '../http/lists.dto.js';
import { ApiErrors, ApiOkWithEtag } from '../http/openapi/api-answers.js';
import { Registry } from '../registries/registry.entity.js';
import { Source } from '../sources/source.entity.js';
import { EntryList } from './entries.responses.js';
import { EntryListService } from './entry-list.service.js';

@Controller('v1')
@ApiErrors('invalid_parameter', 'invalid_cursor', 'database_unavailable', 'database_timeout')
export class EntryListController {
  constructor(private readonly entries: EntryListService) {}

  @Get('sources/:name/entries')
  @Audited('source.read')
  @RequiresRole('manageSources')
  @MayBeLong('unless paged')
  @ResourceRoute({ resource: 'source', use: 'read' })
  @ApiTags('sources')
  @ApiOperation({
    operationId: 'listSourceEntries',
    summary: 'Lists all entries of a source with their claims and versions',
  })
  @ApiOkWithEtag(EntryList)
  ofSource(@Loaded() source: Source, @Query() query: AdminListParameters): Promise<JsonText> {
    return this.entries.ofSource(source, query);
  }

  @Get('registries/:name/entries')
  @Audited('registry.read')
  @RequiresRole('manageRegistries')
  @MayBeLong('unless paged')
  @ResourceRoute({ resource: 'registry', use: 'read' })
  @ApiTags('registries')
  @ApiOperation({
    operationId: 'listRegistryEntries',
    summary: 'Lists all entries of the sources of a registry, including shadowed ones',
  })
  @ApiOkWithEtag(EntryList)
  ofRegistry(@Loaded() registry: Registry, @Query() query: AdminListParameters): Promise<JsonText> {
    return this.entries.ofRegistry(registry, query);
  }
}
