import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Param,
  Patch,
  Post,
  Put,
  Query,
  RawBody,
  Res,
} from '@nestjs/common';
import {
  ApiAcceptedResponse,
  ApiBody,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
} from '@nestjs/swagger';
import type { Response } from 'express';
import { type Caller, CurrentCaller } from '../auth/caller.js';
import { Audited, Loaded, MayBeLong, RequiresRole, ResourceRoute } from '../auth/route.js';
import { WritesNothing } from '../authz/roles.guard.js';
import { TakesBody } from '../http/body.js';
import { JsonText } from '../http/json-answers.js';
import { ApiErrors, ApiIfMatch, ApiOkWithEtag } from '../http/openapi/api-answers.js';
import { type Preconditions, RequestPreconditions } from '../http/preconditions.js';
import { CurrentRequest, type RequestContext } from '../http/request-context.js';
import {
  ClaimsBody,
  EntriesQuery,
  PUBLISH_EXAMPLES,
  PublishBody,
  PublishQuery,
  StatusBody,
} from './entries.dto.js';
import {
  EntryClaimsAnswer,
  EntryList,
  HeldPublicationAnswer,
  ManagedEntry,
  PublishedVersionAnswer,
} from './entries.responses.js';
import { EntriesService } from './entries.service.js';
import { EntryListService } from './entry-list.service.js';
import { Entry } from './entry.entity.js';

const VERSION = { name: 'version', type: String, description: 'One exact version', example: '1.2.0' };
const PUBLISH_ERRORS = [
  'too_many_claims',
  'invalid_document',
  'claims_required',
  'claims_not_subset',
  'claims_mismatch',
  'name_reserved',
  'version_exists',
  'entry_full',
  'no_managed_source',
  'blocked',
  'too_many_held',
] as const;
const HELD_CHANGE = {
  description: 'The change waits for review: the item of `/v1/admission`',
  schema: { type: 'object', additionalProperties: true } as const,
};

@ApiTags('entries')
@Controller('v1/entries')
@RequiresRole('manageEntries')
@ApiErrors('database_unavailable', 'database_timeout')
export class EntriesController {
  constructor(
    private readonly entries: EntriesService,
    private readonly lists: EntryListService,
  ) {}

  @Get()
  @MayBeLong('unless paged')
  @Audited('entry.list')
  @ApiOperation({ operationId: 'listEntries', summary: 'Lists the published entries the caller may manage' })
  @ApiOkWithEtag(EntryList)
  @ApiErrors('invalid_parameter', 'invalid_cursor')
  list(@CurrentCaller() caller: Caller, @Query() query: EntriesQuery): Promise<JsonText> {
    return this.lists.manageable(caller, query);
  }

  @Post()
  @TakesBody({ document: 'member' })
  @Audited('entry.publish')
  @WritesNothing(({ query }) => query['dry_run'] === 'true')
  @ApiOperation({
    operationId: 'publishEntry',
    summary: 'Publishes a version of an entry to the managed source',
  })
  @ApiBody({ type: PublishBody, examples: PUBLISH_EXAMPLES })
  @ApiCreatedResponse({ type: PublishedVersionAnswer })
  @ApiAcceptedResponse({ type: HeldPublicationAnswer, description: 'The version waits for a decision' })
  @ApiOkResponse({
    type: PublishedVersionAnswer,
    description: 'With `dry_run`: the version could be published',
  })
  @ApiErrors('invalid_parameter', 'read_only', 'storage_full', ...PUBLISH_ERRORS)
  async publish(
    @CurrentCaller() caller: Caller,
    @Query() { dry_run: dryRun }: PublishQuery,
    @Body() body: PublishBody,
    @RawBody() raw: Buffer | undefined,
    @CurrentRequest() context: RequestContext,
    @Res({ passthrough: true }) response: Response,
  ): Promise<JsonText> {
    const isDry = dryRun === 'true';
    const { isHeld, answer } = await this.entries.publish(caller, body, raw, isDry, context);
    response.status(isDry ? 200 : isHeld ? 202 : 201);
    return new JsonText(answer);
  }

  @Post('validate')
  @HttpCode(200)
  @TakesBody({ document: 'member' })
  @Audited('entry.validate')
  @WritesNothing(() => true)
  @ApiOperation({
    operationId: 'validateEntry',
    summary: 'Checks whether a version could be published, without writing',
  })
  @ApiBody({ type: PublishBody, examples: PUBLISH_EXAMPLES })
  @ApiOkResponse({ type: PublishedVersionAnswer, description: 'The version could be published' })
  @ApiErrors(...PUBLISH_ERRORS)
  async validate(
    @CurrentCaller() caller: Caller,
    @Body() body: PublishBody,
    @RawBody() raw: Buffer | undefined,
    @CurrentRequest() context: RequestContext,
  ): Promise<JsonText> {
    return new JsonText((await this.entries.publish(caller, body, raw, true, context)).answer);
  }

  @Get(':type/:name')
  @Audited('entry.read')
  @ResourceRoute({ resource: 'entry', use: 'read' })
  @ApiOperation({
    operationId: 'getEntry',
    summary: 'Returns a published entry with its claims and versions',
  })
  @ApiOkWithEtag(ManagedEntry)
  get(@Loaded() entry: Entry): Promise<JsonText> {
    return this.entries.get(entry);
  }

  @Get(':type/:name/versions/:version')
  @Audited('entry.read')
  @ResourceRoute({ resource: 'entry', use: 'read' })
  @ApiOperation({ operationId: 'getEntryVersion', summary: 'Returns one version of a published entry' })
  @ApiParam(VERSION)
  @ApiOkWithEtag(PublishedVersionAnswer)
  @ApiErrors('version_not_found')
  getVersion(@Loaded() entry: Entry): Promise<JsonText> {
    return this.entries.getVersion(entry);
  }

  @Delete(':type/:name/versions/:version')
  @HttpCode(204)
  @Audited('entry.delete')
  @ResourceRoute({ resource: 'entry', use: 'change' })
  @ApiOperation({
    operationId: 'deleteEntryVersion',
    summary: 'Removes a version; removing the last one removes the entry',
  })
  @ApiParam(VERSION)
  @ApiNoContentResponse()
  @ApiErrors('read_only', 'storage_full', 'version_not_found')
  removeVersion(
    @CurrentCaller() caller: Caller,
    @Param('type') type: string,
    @Param('name') name: string,
    @Param('version') version: string,
    @CurrentRequest() context: RequestContext,
  ): Promise<void> {
    return this.entries.removeVersion(caller, { type, name }, version, context);
  }

  @Get(':type/:name/claims')
  @Audited('entry.read')
  @ResourceRoute({ resource: 'entry', use: 'read' })
  @ApiOperation({ operationId: 'getEntryClaims', summary: 'Returns the claims of a published entry' })
  @ApiOkWithEtag(EntryClaimsAnswer)
  getClaims(@Loaded() entry: Entry): JsonText {
    return this.entries.getClaims(entry);
  }

  @Put(':type/:name/claims')
  @Audited('entry.claims.update')
  @TakesBody()
  @HttpCode(204)
  @ResourceRoute({ resource: 'entry', use: 'change' })
  @ApiOperation({
    operationId: 'putEntryClaims',
    summary: 'Sets the claims of every version of an entry; an empty map clears them',
  })
  @ApiIfMatch()
  @ApiBody({ type: ClaimsBody })
  @ApiNoContentResponse()
  @ApiAcceptedResponse(HELD_CHANGE)
  @ApiErrors(
    'change_pending',
    'too_many_held',
    'read_only',
    'storage_full',
    'too_many_claims',
    'claims_required',
    'claims_not_subset',
    'name_reserved',
  )
  async setClaims(
    @CurrentCaller() caller: Caller,
    @Param('type') type: string,
    @Param('name') name: string,
    @Body() { claims }: ClaimsBody,
    @RequestPreconditions() preconditions: Preconditions,
    @CurrentRequest() context: RequestContext,
    @Res({ passthrough: true }) response: Response,
  ): Promise<JsonText | undefined> {
    const held = await this.entries.setClaims(caller, { type, name }, claims, preconditions, context);
    if (held) response.status(202);
    return held ?? undefined;
  }

  @Patch(':type/:name/status')
  @TakesBody()
  @Audited('entry.status')
  @ResourceRoute({ resource: 'entry', use: 'change' })
  @ApiOperation({ operationId: 'setEntryStatus', summary: 'Sets the status of every version of an entry' })
  @ApiBody({ type: StatusBody })
  @ApiOkResponse({ type: ManagedEntry })
  @ApiAcceptedResponse(HELD_CHANGE)
  @ApiErrors('read_only', 'storage_full', 'change_pending', 'too_many_held')
  async setStatus(
    @CurrentCaller() caller: Caller,
    @Param('type') type: string,
    @Param('name') name: string,
    @Body() body: StatusBody,
    @CurrentRequest() context: RequestContext,
    @Res({ passthrough: true }) response: Response,
  ): Promise<JsonText> {
    const { isHeld, answer } = await this.entries.setStatus(caller, { type, name }, body, undefined, context);
    if (isHeld) response.status(202);
    return answer;
  }

  @Patch(':type/:name/versions/:version/status')
  @TakesBody()
  @Audited('entry.status')
  @ResourceRoute({ resource: 'entry', use: 'change' })
  @ApiOperation({ operationId: 'setEntryVersionStatus', summary: 'Sets the status of one version' })
  @ApiParam(VERSION)
  @ApiBody({ type: StatusBody })
  @ApiOkResponse({ type: PublishedVersionAnswer })
  @ApiAcceptedResponse(HELD_CHANGE)
  @ApiErrors('read_only', 'storage_full', 'version_not_found', 'change_pending', 'too_many_held')
  async setVersionStatus(
    @CurrentCaller() caller: Caller,
    @Param('type') type: string,
    @Param('name') name: string,
    @Param('version') version: string,
    @Body() body: StatusBody,
    @CurrentRequest() context: RequestContext,
    @Res({ passthrough: true }) response: Response,
  ): Promise<JsonText> {
    const { isHeld, answer } = await this.entries.setStatus(caller, { type, name }, body, version, context);
    if (isHeld) response.status(202);
    return answer;
  }
}
