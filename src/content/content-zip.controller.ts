import { Controller, Get, Param, Req } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { AnyCaller, Audited, Loaded, type LoadedRequest, RegistryRoute } from '../auth/route.js';
import { CatalogService } from '../catalog/catalog.service.js';
import { PoolSemaphores } from '../database/pool-semaphores.js';
import { BARE_TYPES, isBareType } from '../documents/entry-types.js';
import { ApiError } from '../http/errors.js';
import { ApiErrors, ApiTextWithEtag } from '../http/openapi/api-answers.js';
import type { VerifiedAccess } from '../visibility/registry-views.js';
import { ContentStore, type Turn } from './content-store.queries.js';
import { StreamedZip, zipOf } from './content-zip.js';
import { VisibleContent } from './visible-content.queries.js';

@ApiTags('catalog')
@Controller('registry/:registry/x/content/:type/:namespace/:name')
@AnyCaller()
@RegistryRoute()
@Audited('content.read')
export class ContentZipController {
  constructor(
    private readonly catalog: CatalogService,
    private readonly visible: VisibleContent,
    private readonly store: ContentStore,
    private readonly semaphores: PoolSemaphores,
  ) {}

  @Get(':version.zip')
  @ApiOperation({
    operationId: 'getContentZip',
    summary: 'The files of one version of a skill or plugin as a zip file',
    description: 'The ETag is a digest of the list of files: equal files, equal bytes.',
  })
  @ApiParam({ name: 'type', schema: { type: 'string', enum: [...BARE_TYPES], example: 'skill' } })
  @ApiParam({ name: 'namespace', type: String, example: 'io.github.example' })
  @ApiParam({ name: 'name', type: String, example: 'code-review' })
  @ApiParam({ name: 'version', type: String, description: '`latest` or an exact version', example: 'latest' })
  @ApiTextWithEtag('application/zip')
  @ApiErrors('invalid_parameter', 'entry_not_found', 'version_not_found')
  async get(
    @Loaded() access: VerifiedAccess,
    @Param('type') type: string,
    @Param('namespace') namespace: string,
    @Param('name') name: string,
    @Param('version') version: string,
    @Req() request: LoadedRequest,
  ): Promise<StreamedZip> {
    if (!isBareType(type)) throw new ApiError('entry_not_found');
    const entry = { type, name: `${namespace}/${name}`, version } as const;
    request.readEntry = entry;
    // Refuses as the document's route does.
    await this.catalog.version(access, type, entry.name, version, false);
    const digest = await this.visible.digestOf(access, entry);
    const tree = digest === null ? null : await this.store.tree(digest);
    if (!tree) throw new ApiError('version_not_found', 'This version has no content');
    const { client, caller } = access;
    const [key, gone] = [client.callerKey(caller), client.abortSignal()];
    const turn: Turn = (work) => this.semaphores.reads.run(key, gone, work);
    return new StreamedZip(
      tree.digest,
      zipOf(tree, (file) => this.store.read(file, turn)),
      gone,
      key,
      { 'Content-Disposition': `attachment; filename="${fileNameOf(entry)}"` },
    );
  }
}

function fileNameOf({ name, version }: { readonly name: string; readonly version: string }): string {
  return `${name}-${version}.zip`.replaceAll(/[^A-Za-z0-9._+-]/g, '-');
}
