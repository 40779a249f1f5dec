import { Controller } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Loaded, Route } from '../auth/route.js';
import type { CachedJson } from '../http/json-answers.js';
import type { VerifiedAccess } from '../visibility/registry-views.js';
import { CatalogService } from './catalog.service.js';
import { ATOM_TYPE } from './feed-page.queries.js';

/** Serves the changes to a view to feed readers (reference/client-config). */
@ApiTags('catalog')
@Controller('registry/:registry/x/feed.atom')
export class FeedController {
  constructor(private readonly catalog: CatalogService) {}

  @Route('GET', '', {
    access: 'caller',
    audit: 'catalog.read',
    loads: 'view',
    operationId: 'getFeed',
    summary: 'The latest version of each entry as an Atom feed, newest change first, at most 100',
    answer: ATOM_TYPE,
    errors: [],
  })
  get(@Loaded() access: VerifiedAccess): Promise<CachedJson> {
    return this.catalog.feed(access);
  }
}
