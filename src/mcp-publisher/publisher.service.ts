import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { Authenticator } from '../auth/auth.guard.js';
import type { Caller } from '../auth/caller.js';
import { readJwt } from '../auth/token-claims.js';
import { formatProblem } from '../documents/document-check.js';
import { type IncomingVersion, officialMeta, type VersionState } from '../documents/entry-types.js';
import type { StatusBody } from '../entries/entries.dto.js';
import { EntriesService } from '../entries/entries.service.js';
import type { SentJson } from '../http/body.js';
import { ApiError } from '../http/errors.js';
import { JsonText } from '../http/json-answers.js';
import type { RequestContext } from '../http/request-context.js';
import type { PublishingRegistry } from './publisher-gate.js';
import { checkPublishedServer } from './published-server.js';
import type { RegistryTokenAnswer, ValidationAnswer, ValidationIssue } from './publisher.dto.js';

/**
 * Parses the server document that `mcp-publisher` sends as the body (contract §6.2).
 *
 * @throws ApiError 422 `unprocessable_document`, which makes the client request the issues.
 */
function readPublishedServer(sent: SentJson): IncomingVersion {
  const checked = checkPublishedServer(sent);
  if (checked.version) return checked.version;
  const details = checked.problems.map(formatProblem);
  throw new ApiError('unprocessable_document', `The server is not valid: ${details.join('; ')}`, details);
}

/** Returns the document's problems in the client's format; empty if the document can be published. */
function validationIssues(sent: SentJson): ValidationIssue[] {
  return checkPublishedServer(sent).problems.map(({ path, message }) => ({
    type: 'schema',
    path,
    message,
    severity: 'error',
    reference: '',
  }));
}

/** Verifies a CI provider's token (contract §6.2) and returns it unchanged: the server accepts it as a bearer token. */
async function exchangeToken(
  authenticator: Authenticator,
  token: string,
  request: Request,
): Promise<RegistryTokenAnswer> {
  await authenticator.identifyToken(token, request);
  const expiry = readJwt(token)?.payload['exp'];
  return {
    registry_token: token,
    ...(typeof expiry === 'number' ? { expires_at: Math.floor(expiry) } : {}),
  };
}

/**
 * Publishes for `mcp-publisher` (contract §6.2): applies the rules of `/v1/entries` and responds in the client's
 * format.
 */
@Injectable()
export class PublisherService {
  constructor(
    private readonly entries: EntriesService,
    private readonly authenticator: Authenticator,
  ) {}

  async publish(
    caller: Caller,
    { publishClaims }: PublishingRegistry,
    sent: SentJson,
    context: RequestContext,
  ): Promise<JsonText> {
    const request = { version: readPublishedServer(sent), claims: publishClaims };
    return new JsonText(
      await this.entries.publishVersion(
        caller,
        request,
        false,
        (_name, _claims, version) => itemOf(version),
        context,
      ),
    );
  }

  validate(sent: SentJson): ValidationAnswer {
    const issues = validationIssues(sent);
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
    const { entry, count } = await this.entries.changeStatus(caller, path, body, version, context);
    const items = (await this.entries.documentsOf(entry, version)).map(itemOf);
    if (version !== undefined) return new JsonText(items.join());
    return new JsonText(`{"updatedCount":${count},"servers":[${items.join()}]}`);
  }

  exchange(token: string, request: Request): Promise<RegistryTokenAnswer> {
    return exchangeToken(this.authenticator, token, request);
  }
}

/** Formats a version as the consumer API does. */
function itemOf(version: VersionState & { readonly document: string }): string {
  return `{"server":${version.document},"_meta":${officialMeta(version)}}`;
}
