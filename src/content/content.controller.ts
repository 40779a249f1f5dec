import { Controller, HttpCode, Put, Req } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiNoContentResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { Request } from 'express';
import { type Caller, Client, CurrentCaller, CurrentClient } from '../auth/caller.js';
import { Audited, Loaded, RequiresRole, ResourceRoute } from '../auth/route.js';
import { Entry } from '../entries/entry.entity.js';
import { StreamsBody } from '../http/body.js';
import { ApiErrors } from '../http/openapi/api-answers.js';
import { CurrentRequest, type RequestContext } from '../http/request-context.js';
import { ContentUploads } from './content-upload.service.js';

@ApiTags('entries')
@Controller('v1/entries/:type/:name/versions/:version/content')
@RequiresRole('manageEntries')
@ApiErrors('database_unavailable', 'database_timeout')
export class ContentController {
  constructor(private readonly uploads: ContentUploads) {}

  @Put()
  @HttpCode(204)
  @Audited('entry.content')
  @StreamsBody()
  @ResourceRoute({ resource: 'entry', use: 'change' })
  @ApiOperation({
    operationId: 'putEntryContent',
    summary: 'Stores the files of a version of a skill or plugin, which never change',
    description:
      'A zip or tar.gz file of at most 2,048 files; a single top folder is removed. A skill needs a `SKILL.md` whose ' +
      '`name` and `description` equal those in the document.',
  })
  @ApiParam({ name: 'version', type: String, description: 'One exact version', example: '1.2.0' })
  @ApiConsumes('application/zip', 'application/gzip')
  @ApiBody({ schema: { type: 'string', format: 'binary' } })
  @ApiNoContentResponse()
  @ApiErrors(
    'read_only',
    'storage_full',
    'version_not_found',
    'invalid_archive',
    'claims_required',
    'claims_not_subset',
    'name_reserved',
    'not_reviewer',
    'own_publication',
    'no_managed_source',
    'content_exists',
    'request_timeout',
    'content_too_large',
    'unsupported_media_type',
    'content_full',
  )
  put(
    @CurrentCaller() caller: Caller,
    @Loaded() entry: Entry,
    @Req() request: Request,
    @CurrentClient() client: Client,
    @CurrentRequest() context: RequestContext,
  ): Promise<void> {
    return this.uploads.upload({ caller, context }, client, entry, request);
  }
}
