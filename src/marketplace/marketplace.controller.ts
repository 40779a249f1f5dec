import { Controller, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Loaded, type LoadedRequest, Route } from '../auth/route.js';
import { type NamedVersion, VersionInPath } from '../content/content-files.controller.js';
import type { StreamedZip } from '../content/content-zip.js';
import { isBareType } from '../documents/entry-types.js';
import { SentBytes } from '../http/body.js';
import { ApiError } from '../http/errors.js';
import { JsonText } from '../http/json-answers.js';
import type { VerifiedAccess } from '../visibility/registry-views.js';
import { MarketplaceAnswer, MarketplaceQuery, UploadPackQuery } from './marketplace.dto.js';
import { ARCHIVES, MarketplaceService, REPOSITORY } from './marketplace.service.js';
import { UPLOAD_PACK_REQUEST, UploadPack } from './upload-pack.js';

/** Serves the marketplace file of a registry (reference/marketplace). */
@ApiTags('catalog')
@Controller('registry/:registry/x/marketplace.json')
export class MarketplaceController {
  constructor(private readonly marketplaces: MarketplaceService) {}

  @Route('GET', '', {
    access: 'caller',
    audit: 'catalog.read',
    loads: 'view',
    operationId: 'getMarketplace',
    summary: 'The plugins and skills with content as a plugin marketplace',
    description:
      'Each visible plugin, and each visible skill as a plugin of one skill, if the latest version has content. The sources are ' +
      'the Git repository of this registry, or zip files.',
    answer: MarketplaceAnswer,
    errors: ['invalid_parameter', 'marketplace_not_found', 'marketplace_too_large'],
  })
  async get(
    @Loaded() access: VerifiedAccess,
    @Query() { source }: MarketplaceQuery,
    @Req() request: Request,
  ): Promise<JsonText> {
    return new JsonText(JSON.stringify(await this.marketplaces.file(access, source || 'git', request)));
  }
}

/** Serves the plugins of a marketplace one at a time (reference/marketplace). */
@ApiTags('catalog')
@Controller(`registry/:registry/${ARCHIVES}/:type/:namespace/:name`)
export class PluginArchiveController {
  constructor(private readonly marketplaces: MarketplaceService) {}

  @Route('GET', ':version.zip', {
    access: 'caller',
    audit: 'content.read',
    loads: 'view',
    operationId: 'getPluginArchive',
    summary: 'A plugin or skill of the marketplace as a zip file',
    description:
      'The files of its directory in the Git repository of this registry. Only the latest version is available.',
    parameters: [
      { name: 'type', schema: { type: 'string', enum: ['plugin', 'skill'], example: 'skill' } },
      { name: 'namespace', type: String, example: 'io.github.example' },
      { name: 'name', type: String, example: 'code-review' },
      { name: 'version', type: String, example: '1.0.0' },
    ],
    answer: 'application/zip',
    errors: ['marketplace_not_found', 'entry_not_found', 'version_not_found', 'marketplace_too_large'],
  })
  get(
    @Loaded() access: VerifiedAccess,
    @VersionInPath() entry: NamedVersion,
    @Req() request: LoadedRequest,
  ): Promise<StreamedZip> {
    const { type } = entry;
    if (isBareType(type)) request.readEntry = { ...entry, type };
    return this.marketplaces.archive(access, entry);
  }
}

/** Enough for a client with thousands of commits and objects. */
const MAX_COMMAND_BYTES = 1_024 * 1_024;

/** Serves the Git repository of a view over the smart HTTP protocol, for fetching only (reference/marketplace); see gitprotocol-http. */
@Controller(`registry/:registry/${REPOSITORY}`)
export class RepositoryController {
  constructor(private readonly uploadPack: UploadPack) {}

  @Route('GET', 'info/refs', {
    access: 'caller',
    audit: 'content.read',
    loads: 'view',
    acceptsBasic: true,
    openApi: false,
  })
  async references(
    @Loaded() access: VerifiedAccess,
    @Query() { service }: UploadPackQuery,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    // A client that sends no service requests the repository's files directly.
    if (service !== 'git-upload-pack') throw new ApiError('route_not_found');
    await this.uploadPack.send(access, null, request.header('git-protocol'), response);
  }

  @Route('POST', 'git-upload-pack', {
    access: 'caller',
    audit: 'content.read',
    loads: 'view',
    body: { bytesOf: UPLOAD_PACK_REQUEST, maxBytes: MAX_COMMAND_BYTES },
    writesNothing: true,
    acceptsBasic: true,
    openApi: false,
  })
  async command(
    @Loaded() access: VerifiedAccess,
    @SentBytes() body: Buffer,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    await this.uploadPack.send(access, body, request.header('git-protocol'), response);
  }
}
