import { Controller, Req } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request } from 'express';
import { type Caller, CurrentCaller } from '../auth/caller.js';
import { Loaded, Route } from '../auth/route.js';
import { Client, CurrentClient, CurrentRequest, type RequestContext } from '../http/request-context.js';
import { ContentUploads, type UploadTarget } from './content-upload.service.js';

@ApiTags('entries')
@Controller('v1/entries/:type/:name/versions/:version/content')
export class ContentController {
  constructor(private readonly uploads: ContentUploads) {}

  @Route('PUT', '', {
    access: 'manageEntries',
    audit: 'entry.content',
    loads: { resource: 'entry', use: 'upload' },
    body: { streams: ['application/zip', 'application/gzip'] },
    operationId: 'putEntryContent',
    summary: 'Stores the files of a version of a skill or plugin, which never change',
    description:
      'A zip or tar.gz file of at most 2,048 files; a single top folder is removed. A skill needs a `SKILL.md` whose ' +
      '`name` and `description` equal those in the document.',
    parameters: [{ name: 'version', type: String, description: 'An exact version', example: '1.2.0' }],
    answer: null,
    errors: [
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
    ],
  })
  put(
    @CurrentCaller() caller: Caller,
    @Loaded() target: UploadTarget,
    @Req() request: Request,
    @CurrentClient() client: Client,
    @CurrentRequest() context: RequestContext,
  ): Promise<void> {
    return this.uploads.upload({ caller, context }, client, target, request);
  }
}
