import { Controller, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Loaded, Route } from '../auth/route.js';
import type { JsonText } from '../http/json-answers.js';
import { AdminListParameters } from '../http/lists.dto.js';
import { Registry } from '../registries/registry.entity.js';
import { Source } from '../sources/source.entity.js';
import { EntryList } from './entries.responses.js';
import { EntryListService } from './entry-list.service.js';

@Controller('v1')
export class EntryListController {
  constructor(private readonly entries: EntryListService) {}

  @Route('GET', 'sources/:name/entries', {
    access: 'manageSources',
    audit: 'source.read',
    loads: { resource: 'source', use: 'read' },
    mayBeLong: 'unless paged',
    operationId: 'listSourceEntries',
    summary: 'Lists all entries of a source with their claims and versions',
    answer: EntryList,
    errors: ['invalid_parameter', 'invalid_cursor'],
  })
  @ApiTags('sources')
  ofSource(@Loaded() source: Source, @Query() query: AdminListParameters): Promise<JsonText> {
    return this.entries.ofSource(source, query);
  }

  @Route('GET', 'registries/:name/entries', {
    access: 'manageRegistries',
    audit: 'registry.read',
    loads: { resource: 'registry', use: 'read' },
    mayBeLong: 'unless paged',
    operationId: 'listRegistryEntries',
    summary: 'Lists all entries of the sources of a registry, including shadowed ones',
    answer: EntryList,
    errors: ['invalid_parameter', 'invalid_cursor'],
  })
  @ApiTags('registries')
  ofRegistry(@Loaded() registry: Registry, @Query() query: AdminListParameters): Promise<JsonText> {
    return this.entries.ofRegistry(registry, query);
  }
}
