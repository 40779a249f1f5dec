import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import type { Request } from 'express';
import type { HeldAnswer } from '../admission/publication.js';
import { Authenticator } from '../auth/auth.guard.js';
import type { Caller } from '../auth/caller.js';
import { readJwt } from '../auth/token-claims.js';
import { limitsConfig } from '../config/slices.js';
import { type CheckedDocument, formatProblem, withinPublisherLimit } from '../documents/document-check.js';
import { type IncomingVersion, officialMeta, type OfficialFacts } from '../documents/entry-types.js';
import type { StatusBody } from '../entries/entries.dto.js';
import type { PublicationAnswers } from '../entries/entries.responses.js';
import { EntriesService, type MadeOrHeld } from '../entries/entries.service.js';
import type { SentJson } from '../http/body.js';
import { ApiError } from '../http/errors.js';
import { JsonText } from '../http/json-answers.js';
import type { RequestContext } from '../http/request-context.js';
import type { PublishingRegistry } from './publisher-gate.js';
import { checkPublishedServer } from './published-server.js';
import type { RegistryTokenAnswer, ValidationAnswer, ValidationIssue } from './publisher.dto.js';

/** @throws ApiError 422 `unprocessable_document`, which makes the client request the issues. */
function versionOf(checked: CheckedDocument): IncomingVersion {
  if (checked.version) return checked.version;
  const details = checked.problems.map(formatProblem);
  throw new ApiError('unprocessable_document', `The server is not valid: ${details.join('; ')}`, details);
}

/** Returns the document's problems in the client's format; empty if the document can be published. */
function issuesOf({ problems }: CheckedDocument): ValidationIssue[] {
  return problems.map(({ path, message }) => ({
    type: 'schema',
    path,
    message,
    severity: 'error',
    reference: '',
  }));
}

/**
 * Publishes for `mcp-publisher` (reference/publishing): applies the rules of `/v1/entries` and responds in the client's
 * format.
 */
@Injectable()
export class PublisherService {
  constructor(
    private readonly entries: EntriesService,
    private readonly authenticator: Authenticator,
    @Inject(limitsConfig.KEY) private readonly limits: ConfigType<typeof limitsConfig>,
  ) {}

  async publish(
    caller: Caller,
    { publishClaims }: PublishingRegistry,
    sent: SentJson,
    context: RequestContext,
  ): Promise<MadeOrHeld<JsonText>> {
    const request = { version: versionOf(this.check(sent)), claims: publishClaims };
    const { isHeld, answer } = await this.entries.publishVersion(caller, request, false, ANSWERS, context);
    return { isHeld, answer: new JsonText(answer) };
  }

  validate(sent: SentJson): ValidationAnswer {
    const issues = issuesOf(this.check(sent));
    return { valid: issues.length === 0, issues };
  }

  async setStatus(
    caller: Caller,
    name: string,
    body: StatusBody,
    version: string | undefined,
    context: RequestContext,
  ): Promise<JsonText> {
    const path = { type: 'server', name };
    const { entry, count, held } = await this.entries.changeStatus(caller, path, body, version, context);
    const admission = held === null ? null : await this.entries.heldAnswer(caller, held);
    const items = (await this.entries.documentsOf(entry, version)).map((one) => itemOf(one, admission));
    if (version !== undefined) return new JsonText(items.join());
    return new JsonText(`{"updatedCount":${count},"servers":[${items.join()}]}`);
  }

  private check(sent: SentJson): CheckedDocument {
    return withinPublisherLimit(checkPublishedServer(sent), this.limits.publisherMeta);
  }

  /** Verifies a CI provider's token (reference/publishing) and returns it unchanged: the server accepts it as a bearer token. */
  async exchange(token: string, request: Request): Promise<RegistryTokenAnswer> {
    await this.authenticator.identifyToken(token, request);
    const expiry = readJwt(token)?.payload['exp'];
    return {
      registry_token: token,
      ...(typeof expiry === 'number' ? { expires_at: Math.floor(expiry) } : {}),
    };
  }
}

/** The client accepts only 200 and 201, so `_meta` says that a version or change is held (reference/admission). */
const ANSWERS: PublicationAnswers = {
  stored: (_name, _claims, version) => itemOf(version),
  held: ({ document, status }, _claims, admission) => {
    const now = new Date();
    const state = { status, statusChangedAt: now, statusMessage: null, publishedAt: now, updatedAt: now };
    return itemOf({ ...state, document: document.toString(), isLatest: false }, admission);
  },
};

/** Formats a version as the consumer API does. */
function itemOf(
  version: OfficialFacts & { readonly document: string },
  admission: HeldAnswer | null = null,
): string {
  const meta = officialMeta(version);
  const held = admission && `,"registry-server/admission":${JSON.stringify(admission)}}`;
  return `{"server":${version.document},"_meta":${held === null ? meta : `${meta.slice(0, -1)}${held}`}}`;
}
