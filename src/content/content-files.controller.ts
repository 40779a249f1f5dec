import { isUtf8 } from 'node:buffer';
import { buffer } from 'node:stream/consumers';
import { Controller, createParamDecorator, type ExecutionContext, Req } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { callerKeyOf } from '../auth/caller.js';
import { Loaded, type LoadedRequest, Route } from '../auth/route.js';
import { CatalogService } from '../catalog/catalog.service.js';
import { PoolSemaphores } from '../database/connection-pool.js';
import { BARE_TYPES, isBareType } from '../documents/entry-types.js';
import { ApiError } from '../http/errors.js';
import { CachedJson } from '../http/json-answers.js';
import { Semaphore } from '../limits/semaphore.js';
import { Members } from '../members/members.responses.js';
import { RegistryViews, type VerifiedAccess } from '../visibility/registry-views.js';
import { CHUNK_BYTES, ContentStore, type Turn } from './content-store.queries.js';
import type { Tree, ContentTreeFile } from './content-tree.js';
import { StreamedZip, zipOf } from './content-zip.js';
import { ContentFiles } from './content.responses.js';
import { VisibleContent } from './visible-content.queries.js';

/** The version in a path: `:type/:namespace/:name/:version`. */
export interface NamedVersion {
  readonly type: string;
  readonly name: string;
  readonly version: string;
}

/** Handler parameter: the version in the path. */
export const VersionInPath = createParamDecorator((_: unknown, context: ExecutionContext): NamedVersion => {
  const { type, namespace, name, version } = context
    .switchToHttp()
    .getRequest<{ params: Record<'type' | 'namespace' | 'name' | 'version', string> }>().params;
  return { type, name: `${namespace}/${name}`, version };
});

const PARAMETERS = [
  { name: 'type', schema: { type: 'string', enum: [...BARE_TYPES], example: 'skill' } },
  { name: 'namespace', type: String, example: 'io.github.example' },
  { name: 'name', type: String, example: 'code-review' },
  { name: 'version', type: String, description: '`latest` or an exact version', example: 'latest' },
] as const;
const ERRORS = ['invalid_parameter', 'entry_not_found', 'version_not_found'] as const;

/** Maximum file lists in memory at a time: with its texts, one takes up to 5 MiB. */
const MAX_LISTS = 4;

@ApiTags('catalog')
@Controller('registry/:registry/x/content/:type/:namespace/:name')
export class ContentFilesController {
  private readonly lists = new Semaphore(MAX_LISTS);

  constructor(
    private readonly catalog: CatalogService,
    private readonly visible: VisibleContent,
    private readonly store: ContentStore,
    private readonly semaphores: PoolSemaphores,
    private readonly views: RegistryViews,
  ) {}

  @Route('GET', ':version.zip', {
    access: 'caller',
    audit: 'content.read',
    loads: 'view',
    operationId: 'getContentZip',
    summary: 'The files of one version of a skill or plugin as a zip file',
    description: 'The ETag is a digest of the list of files: the same files give the same bytes.',
    parameters: PARAMETERS,
    answer: 'application/zip',
    errors: ERRORS,
  })
  async get(
    @Loaded() access: VerifiedAccess,
    @VersionInPath() entry: NamedVersion,
    @Req() request: LoadedRequest,
  ): Promise<StreamedZip> {
    const verifiedAt = performance.now();
    const tree = await this.treeOf(access, entry, request);
    const turn = this.turnOf(access);
    const zip = zipOf(tree, (file) => this.store.read(file, turn));
    const verify = async () => {
      const digest = await this.digestOf(access, entry, request);
      if (digest !== tree.digest) throw new ApiError('version_not_found');
    };
    return new StreamedZip(
      tree.digest,
      this.views.whileAdmitted(access, zip, verifiedAt, verify),
      access.client.abortSignal(),
      callerKeyOf(access.caller, access.client),
      { 'Content-Disposition': `attachment; filename="${fileNameOf(entry)}"` },
    );
  }

  @Route('GET', ':version/files', {
    access: 'caller',
    audit: 'content.read',
    loads: 'view',
    operationId: 'listContentFiles',
    summary: 'The files of one version of a skill or plugin, with the text of its SKILL.md and README.md',
    parameters: PARAMETERS,
    answer: ContentFiles,
    errors: ERRORS,
  })
  async files(
    @Loaded() access: VerifiedAccess,
    @VersionInPath() entry: NamedVersion,
    @Req() request: LoadedRequest,
  ): Promise<CachedJson> {
    const { client, caller } = access;
    return this.lists.run(callerKeyOf(caller, client), client.abortSignal(), async () => {
      const { digest, bytes, files } = await this.treeOf(access, entry, request);
      const turn = this.turnOf(access);
      const texts: { path: string; text: string }[] = [];
      for (const file of files.filter(isShownAsText)) {
        const text = utf8(await buffer(this.store.read(file.digest, turn)));
        if (text !== null) texts.push({ path: file.path, text });
      }
      return new CachedJson([JSON.stringify({ digest, bytes, files, texts })]);
    });
  }

  @Route('GET', ':version/members', {
    access: 'caller',
    audit: 'content.read',
    loads: 'view',
    operationId: 'getContentMembers',
    summary: 'What clients find in one version of a skill or plugin: servers, hooks, skills, programs',
    parameters: PARAMETERS,
    answer: Members,
    errors: ERRORS,
  })
  async members(
    @Loaded() access: VerifiedAccess,
    @VersionInPath() entry: NamedVersion,
    @Req() request: LoadedRequest,
  ): Promise<CachedJson> {
    const digest = await this.digestOf(access, entry, request);
    return new CachedJson([JSON.stringify(found(await this.store.membersOf(digest)))]);
  }

  private async treeOf(access: VerifiedAccess, entry: NamedVersion, request: LoadedRequest): Promise<Tree> {
    return found(await this.store.tree(await this.digestOf(access, entry, request)));
  }

  /** Refuses in the same cases as the document's route. */
  private async digestOf(
    access: VerifiedAccess,
    { type, name, version }: NamedVersion,
    request: LoadedRequest,
  ): Promise<string> {
    if (!isBareType(type)) throw new ApiError('entry_not_found');
    request.readEntry = { type, name, version };
    await this.catalog.version(access, type, name, version, false);
    return found(await this.visible.digestOf(access, { type, name, version }));
  }

  private turnOf({ client, caller }: VerifiedAccess): Turn {
    const key = callerKeyOf(caller, client);
    return (work) => this.semaphores.reads.run(key, client.abortSignal(), work);
  }
}

function found<Value>(value: Value | null): Value {
  if (value === null) throw new ApiError('version_not_found', 'This version has no content');
  return value;
}

/** Matches files at the top level that are small enough to be read in one piece. */
function isShownAsText({ path, bytes }: ContentTreeFile): boolean {
  return ['skill.md', 'readme.md'].includes(path.toLowerCase()) && bytes <= CHUNK_BYTES;
}

function utf8(bytes: Buffer): string | null {
  return isUtf8(bytes) ? bytes.toString() : null;
}

function fileNameOf({ name, version }: NamedVersion): string {
  return `${name}-${version}.zip`.replaceAll(/[^A-Za-z0-9._+-]/g, '-');
}
