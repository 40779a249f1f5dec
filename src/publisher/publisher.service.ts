import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { Authenticator } from '../auth/authenticator.js';
import type { Caller } from '../auth/caller.js';
import { officialMeta, type VersionState } from '../documents/incoming-version.js';
import { EntriesService } from '../entries/entries.service.js';
import type { SentBody } from '../http/body.js';
import { JsonText } from '../http/json-answers.js';
import type { RequestContext } from '../http/request-context.js';
import { readPublishedServer, validationIssues } from './published-server.js';
import type { PublishingRegistry } from './publisher-gate.js';
import type { RegistryTokenAnswer, ValidationAnswer } from './publisher.responses.js';
import { exchangeToken } from './token-exchange.js';

/** What `mcp-publisher` asks of a registry (contract §6.2): the rules are those of `/v1/entries`, the answers its own. */
@Injectable()
export class PublisherService {
  constructor(
    private readonly entries: EntriesService,
    private readonly authenticator: Authenticator,
  ) {}

  async publish(
    caller: Caller,
    { publishClaims }: PublishingRegistry,
    sent: SentBody,
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

  validate(sent: SentBody): ValidationAnswer {
    const issues = validationIssues(sent);
    return { valid: issues.length === 0, issues };
  }

  async setStatus(
    caller: Caller,
    name: string,
    body: unknown,
    version: string | undefined,
    context: RequestContext,
  ): Promise<JsonText> {
    const path = { type: 'server', name };
    const { versions } = await this.entries.changeStatus(caller, path, body, version, context);
    const items = versions.map(itemOf);
    if (version !== undefined) return new JsonText(items.join());
    return new JsonText(`{"updatedCount":${items.length},"servers":[${items.join()}]}`);
  }

  exchange(token: string, request: Request): Promise<RegistryTokenAnswer> {
    return exchangeToken(this.authenticator, token, request);
  }
}

/** A version as the consumer API shows it. */
function itemOf(version: VersionState & { readonly document: string }): string {
  return `{"server":${version.document},"_meta":${officialMeta(version)}}`;
}
