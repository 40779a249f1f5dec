import { Controller, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { CachedJson } from '../http/json-answers.js';
import { CatalogAccess, CatalogRead, type RegistryAccess } from '../visibility/registry-views.js';
import { CatalogService } from './catalog.service.js';
import { EntrySearchQuery, EntrySearchResult } from './entry-search.dto.js';
import { entrySearch } from './entry-search.js';

/** Serves the ranked search over entries of all types (reference/search). */
@ApiTags('catalog')
@Controller(['/v0.1', '/v0', ''].map((version) => `registry/:registry${version}/x/search`))
export class EntrySearchController {
  constructor(private readonly catalog: CatalogService) {}

  @CatalogRead('', undefined, {
    operationId: 'listSearchResults',
    summary: 'A ranked search over the latest versions of all types, with counts',
    description:
      'Searches the last segment of the name, the namespace without its host part, title, tags, names of tools, and the ' +
      'description. Order of relevance: the whole name; last segment or title equal to `q`; all words in these; all words ' +
      'in these, tags or tools; the rest. Within these, deprecated and archived entries come last, installable ones first. ' +
      'The facets count the whole result, not only this page.',
    answer: EntrySearchResult,
    errors: ['invalid_parameter', 'invalid_cursor', 'search_too_broad'],
  })
  search(@CatalogAccess() access: RegistryAccess, @Query() query: EntrySearchQuery): Promise<CachedJson> {
    return this.catalog.searchEntries(access, entrySearch(query));
  }
}
