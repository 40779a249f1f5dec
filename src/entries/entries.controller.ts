import { Body, Controller, Param, Query, RawBody, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { type Caller, CurrentCaller } from '../auth/caller.js';
import { Loaded, Route } from '../auth/route.js';
import { JsonText } from '../http/json-answers.js';
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
import { Entry } from '../entry-store/entry.entity.js';

const VERSION = { name: 'version', type: String, description: 'An exact version', example: '1.2.0' };
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
  description: 'The change is waiting for review; returns its item in `/v1/admission`',
  schema: { type: 'object', additionalProperties: true } as const,
};

@ApiTags('entries')
@Controller('v1/entries')
export class EntriesController {
  constructor(
    private readonly entries: EntriesService,
    private readonly lists: EntryListService,
  ) {}

  @Route('GET', '', {
    access: 'manageEntries',
    audit: 'entry.list',
    mayBeLong: 'unless paged',
    operationId: 'listEntries',
    summary: 'Lists the published entries the caller may manage',
    answer: EntryList,
    errors: ['invalid_parameter', 'invalid_cursor'],
  })
  list(@CurrentCaller() caller: Caller, @Query() query: EntriesQuery): Promise<JsonText> {
    return this.lists.manageable(caller, query);
  }

  @Route('POST', '', {
    access: 'manageEntries',
    audit: 'entry.publish',
    body: { type: PublishBody, examples: PUBLISH_EXAMPLES, document: 'member' },
    status: 201,
    writesNothing: ({ query }) => query['dry_run'] === 'true',
    operationId: 'publishEntry',
    summary: 'Publishes a version of an entry to the managed source',
    answer: PublishedVersionAnswer,
    also: [
      { status: 202, type: HeldPublicationAnswer, description: 'The version waits for a decision' },
      {
        status: 200,
        type: PublishedVersionAnswer,
        description: 'With `dry_run`: the version could be published',
      },
    ],
    errors: ['invalid_parameter', ...PUBLISH_ERRORS],
  })
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

  @Route('POST', 'validate', {
    access: 'manageEntries',
    audit: 'entry.validate',
    body: { type: PublishBody, examples: PUBLISH_EXAMPLES, document: 'member' },
    writesNothing: true,
    operationId: 'validateEntry',
    summary: 'Checks whether a version could be published, without writing',
    answer: { type: PublishedVersionAnswer, description: 'The version could be published' },
    errors: PUBLISH_ERRORS,
  })
  async validate(
    @CurrentCaller() caller: Caller,
    @Body() body: PublishBody,
    @RawBody() raw: Buffer | undefined,
    @CurrentRequest() context: RequestContext,
  ): Promise<JsonText> {
    return new JsonText((await this.entries.publish(caller, body, raw, true, context)).answer);
  }

  @Route('GET', ':type/:name', {
    access: 'manageEntries',
    audit: 'entry.read',
    loads: { resource: 'entry', use: 'read' },
    operationId: 'getEntry',
    summary: 'Returns a published entry with its claims and versions',
    answer: ManagedEntry,
    errors: [],
  })
  get(@Loaded() entry: Entry): Promise<JsonText> {
    return this.entries.get(entry);
  }

  @Route('GET', ':type/:name/versions/:version', {
    access: 'manageEntries',
    audit: 'entry.read',
    loads: { resource: 'entry', use: 'read' },
    operationId: 'getEntryVersion',
    summary: 'Returns one version of a published entry',
    parameters: [VERSION],
    answer: PublishedVersionAnswer,
    errors: ['version_not_found'],
  })
  getVersion(@Loaded() entry: Entry): Promise<JsonText> {
    return this.entries.getVersion(entry);
  }

  @Route('DELETE', ':type/:name/versions/:version', {
    access: 'manageEntries',
    audit: 'entry.delete',
    loads: { resource: 'entry', use: 'change' },
    operationId: 'deleteEntryVersion',
    summary: 'Removes a version; removing the last one removes the entry',
    parameters: [VERSION],
    answer: null,
    errors: ['version_not_found'],
  })
  removeVersion(
    @CurrentCaller() caller: Caller,
    @Param('type') type: string,
    @Param('name') name: string,
    @Param('version') version: string,
    @CurrentRequest() context: RequestContext,
  ): Promise<void> {
    return this.entries.removeVersion(caller, { type, name }, version, context);
  }

  @Route('GET', ':type/:name/claims', {
    access: 'manageEntries',
    audit: 'entry.read',
    loads: { resource: 'entry', use: 'read' },
    operationId: 'getEntryClaims',
    summary: 'Returns the claims of a published entry',
    answer: EntryClaimsAnswer,
    errors: [],
  })
  getClaims(@Loaded() entry: Entry): JsonText {
    return this.entries.getClaims(entry);
  }

  @Route('PUT', ':type/:name/claims', {
    access: 'manageEntries',
    audit: 'entry.claims.update',
    loads: { resource: 'entry', use: 'change' },
    body: ClaimsBody,
    operationId: 'putEntryClaims',
    summary: 'Sets the claims of every version of an entry; an empty map clears them',
    answer: null,
    also: [{ status: 202, ...HELD_CHANGE }],
    ifMatch: true,
    errors: [
      'change_pending',
      'too_many_held',
      'too_many_claims',
      'claims_required',
      'claims_not_subset',
      'name_reserved',
    ],
  })
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

  @Route('PATCH', ':type/:name/status', {
    access: 'manageEntries',
    audit: 'entry.status',
    loads: { resource: 'entry', use: 'change' },
    body: StatusBody,
    operationId: 'setEntryStatus',
    summary: 'Sets the status of every version of an entry',
    answer: ManagedEntry,
    also: [{ status: 202, ...HELD_CHANGE }],
    errors: ['change_pending', 'too_many_held'],
  })
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

  @Route('PATCH', ':type/:name/versions/:version/status', {
    access: 'manageEntries',
    audit: 'entry.status',
    loads: { resource: 'entry', use: 'change' },
    body: StatusBody,
    operationId: 'setEntryVersionStatus',
    summary: 'Sets the status of one version',
    parameters: [VERSION],
    answer: PublishedVersionAnswer,
    also: [{ status: 202, ...HELD_CHANGE }],
    errors: ['version_not_found', 'change_pending', 'too_many_held'],
  })
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
