import { Controller, Param, Req, Res } from '@nestjs/common';
import type { Response } from 'express';
import { callerKeyOf } from '../auth/caller.js';
import { Loaded, type LoadedRequest, Route } from '../auth/route.js';
import { CatalogService } from '../catalog/catalog.service.js';
import { type EntryType, isEntryType } from '../documents/entry-types.js';
import { ApiError } from '../http/errors.js';
import { memberText } from '../json/json-text.js';
import type { VerifiedAccess } from '../visibility/registry-views.js';
import { IconCache } from './icon-cache.js';
import { PICTURE_HEADERS } from './web-ui-files.js';

/** Serves the icons of entries to the web UI, so that their hosts don't learn who views the catalog. */
@Controller('registry/:registry/v0.1/x/icon/:type/:name')
export class IconsController {
  constructor(
    private readonly catalog: CatalogService,
    private readonly icons: IconCache,
  ) {}

  @Route('GET', '', { access: 'caller', audit: 'catalog.read', loads: 'view', openApi: false })
  async get(
    @Loaded() access: VerifiedAccess,
    @Param('type') type: string,
    @Param('name') name: string,
    @Req() request: LoadedRequest,
    @Res() response: Response,
  ): Promise<void> {
    if (!isEntryType(type)) throw new ApiError('entry_not_found');
    request.readEntry = { type, name };
    const { bytes } = await this.catalog.version(access, type, name, 'latest', false);
    const { client, caller } = access;
    const icon = await this.icons.of(iconsIn(type, bytes), callerKeyOf(caller, client), client.abortSignal());
    response.setHeader('Cache-Control', 'private, no-cache');
    response.vary('Authorization');
    if (!icon) return void response.status(204).end();
    for (const [header, value] of Object.entries(PICTURE_HEADERS)) response.setHeader(header, value);
    response.setHeader('ETag', icon.etag);
    if (request.headers['if-none-match']?.includes(icon.etag)) return void response.status(304).end();
    response.setHeader('Content-Type', icon.type);
    response.setHeader('Content-Length', icon.bytes.length);
    response.end(request.method === 'HEAD' ? undefined : icon.bytes);
  }
}

// Parsing a whole document of 1 MiB for each icon would delay other requests.
function iconsIn(type: EntryType, bytes: Buffer): unknown {
  const text = bytes.toString();
  const document = type === 'server' ? memberText(text, 'server') : text;
  return JSON.parse(memberText(document ?? '{}', 'icons') ?? '[]');
}
