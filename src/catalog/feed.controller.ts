import { Controller, Get } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { AnyCaller, Audited, Loaded, RegistryRoute } from '../auth/route.js';
import type { CachedJson } from '../http/json-answers.js';
import { ApiTextWithEtag } from '../http/openapi/api-answers.js';
import type { VerifiedAccess } from '../visibility/registry-views.js';
import { CatalogService } from './catalog.service.js';
import { ATOM_TYPE } from './feed-page.queries.js';

/** Serves the changes of a view to feed readers (reference/client-config). */
@ApiTags('catalog')
@Controller('registry/:registry/x/feed.atom')
@AnyCaller()
@RegistryRoute()
@Audited('catalog.read')
export class FeedController {
  constructor(private readonly catalog: CatalogService) {}

  @Get()
  @ApiOperation({
    operationId: 'getFeed',
    summary: 'The latest version of each entry as an Atom feed, newest change first, at most 100',
  })
  @ApiTextWithEtag(ATOM_TYPE)
  get(@Loaded() access: VerifiedAccess): Promise<CachedJson> {
    return this.catalog.feed(access);
  }
}
