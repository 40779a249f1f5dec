import {
  Body,
  type CanActivate,
  Controller,
  type ExecutionContext,
  Header,
  Injectable,
  Param,
  Req,
  Res,
  UseGuards,
} from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Authenticator } from '../auth/auth.guard.js';
import { type Caller, CurrentCaller } from '../auth/caller.js';
import { Loaded, Route } from '../auth/route.js';
import { ServerItem } from '../catalog/catalog.responses.js';
import { ServerStatusBody, StatusBody } from '../entries/entries.dto.js';
import { SentJson, UnvalidatedBody } from '../http/body.js';
import type { JsonText } from '../http/json-answers.js';
import { documentClassOf } from '../http/openapi/document-classes.js';
import { CurrentRequest, type RequestContext } from '../http/request-context.js';
import type { PublishingRegistry } from './publisher-gate.js';
import {
  RegistryTokenAnswer,
  ServerStatusAnswer,
  TokenExchangeBody,
  ValidationAnswer,
} from './publisher.dto.js';
import { PublisherService } from './publisher.service.js';
import { useOtherLogin } from './unsupported-writes.controller.js';

const NAME = {
  name: 'name',
  type: String,
  description: 'With its slash encoded as %2F',
  example: 'io.github.example/weather',
};

@Injectable()
class UnsupportedLogin implements CanActivate {
  constructor(private readonly authenticator: Authenticator) {}

  canActivate(context: ExecutionContext): boolean {
    const isAnonymous = !this.authenticator.readsTokens;
    if (isAnonymous && context.getHandler() === PublisherController.prototype.anonymousToken) return true;
    throw useOtherLogin(isAnonymous);
  }
}

/** The routes that `mcp-publisher --registry …/registry/{registry}` calls (reference/publishing). */
@ApiTags('publishing')
@Controller(['registry/:registry/v0.1', 'registry/:registry/v0'])
export class PublisherController {
  constructor(private readonly publisher: PublisherService) {}

  @Route('POST', 'publish', {
    access: 'caller',
    audit: { action: 'entry.publish', entryType: 'server' },
    loads: 'publisher',
    body: { type: documentClassOf('server'), document: 'body' },
    status: 201,
    operationId: 'publishServer',
    summary:
      'Publishes a version of a server to the managed source, with the `publishClaims` of the registry',
    answer: ServerItem,
    also: [{ status: 200, type: ServerItem, description: 'The version waits for a decision: see `_meta`' }],
    errors: [
      'unprocessable_document',
      'claims_required',
      'claims_not_subset',
      'claims_mismatch',
      'name_reserved',
      'version_exists',
      'entry_full',
      'blocked',
      'admission_rejected',
      'too_many_held',
    ],
  })
  async publish(
    @CurrentCaller() caller: Caller,
    @Loaded() registry: PublishingRegistry,
    @UnvalidatedBody() sent: SentJson,
    @CurrentRequest() context: RequestContext,
    @Res({ passthrough: true }) response: Response,
  ): Promise<JsonText> {
    const { isHeld, answer } = await this.publisher.publish(caller, registry, sent, context);
    if (isHeld) response.status(200);
    return answer;
  }

  @Route('POST', 'validate', {
    access: 'public',
    audit: null,
    loads: 'publisher',
    body: { type: documentClassOf('server'), document: 'body' },
    writesNothing: true,
    operationId: 'validateServer',
    summary: 'Validates a server document',
    answer: ValidationAnswer,
    errors: [],
  })
  validate(@UnvalidatedBody() sent: SentJson): ValidationAnswer {
    return this.publisher.validate(sent);
  }

  @Route('POST', 'auth/github-oidc', {
    access: 'public',
    audit: null,
    loads: 'publisher',
    body: TokenExchangeBody,
    writesNothing: true,
    operationId: 'exchangeOidcToken',
    summary: 'Verifies the token of a CI workflow and returns it as the token to publish with',
    answer: RegistryTokenAnswer,
    errors: [
      'token_invalid',
      'claims_incomplete',
      'no_subject',
      'caller_blocked',
      'anonymous_mode',
      'too_many_requests',
      'provider_unavailable',
    ],
  })
  @Header('Cache-Control', 'no-store')
  exchange(
    @Body() { oidc_token: token }: TokenExchangeBody,
    @Req() request: Request,
  ): Promise<RegistryTokenAnswer> {
    return this.publisher.exchange(token, request);
  }

  @Route('POST', 'auth/none', {
    access: 'public',
    audit: null,
    loads: 'publisher',
    writesNothing: true,
    operationId: 'createAnonymousToken',
    summary: 'Returns a token for clients that need one; in anonymous mode only, where tokens are ignored',
    answer: RegistryTokenAnswer,
    errors: [],
  })
  @Header('Cache-Control', 'no-store')
  @UseGuards(UnsupportedLogin)
  anonymousToken(): RegistryTokenAnswer {
    return { registry_token: 'anonymous', expires_at: Math.floor(Date.now() / 1_000) + 86_400 };
  }

  // Public, because callers have no token before login.
  @Route('POST', 'auth/*method', { access: 'public', audit: null, openApi: false })
  @UseGuards(UnsupportedLogin)
  otherLogin(): void {}

  // `mcp-publisher login github` requests the client ID of a GitHub app here, and shows the response if it is refused.
  @Route('GET', 'health', { access: 'public', audit: null, openApi: false })
  @UseGuards(UnsupportedLogin)
  githubLogin(): void {}

  @Route('PATCH', 'servers/:name/status', {
    access: 'caller',
    audit: { action: 'entry.status', entryType: 'server' },
    loads: 'publisher',
    body: ServerStatusBody,
    operationId: 'setServerStatus',
    summary: 'Sets the status of every version of a server',
    parameters: [NAME],
    answer: ServerStatusAnswer,
    errors: ['entry_not_found', 'change_pending', 'too_many_held'],
  })
  setStatus(
    @CurrentCaller() caller: Caller,
    @Param('name') name: string,
    @Body() body: StatusBody,
    @CurrentRequest() context: RequestContext,
  ): Promise<JsonText> {
    return this.publisher.setStatus(caller, name, body, undefined, context);
  }

  @Route('PATCH', 'servers/:name/versions/:version/status', {
    access: 'caller',
    audit: { action: 'entry.status', entryType: 'server' },
    loads: 'publisher',
    body: ServerStatusBody,
    operationId: 'setServerVersionStatus',
    summary: 'Sets the status of one version of a server',
    parameters: [NAME, { name: 'version', type: String, description: 'An exact version', example: '1.2.0' }],
    answer: ServerItem,
    errors: ['entry_not_found', 'version_not_found', 'change_pending', 'too_many_held'],
  })
  setVersionStatus(
    @CurrentCaller() caller: Caller,
    @Param('name') name: string,
    @Param('version') version: string,
    @Body() body: StatusBody,
    @CurrentRequest() context: RequestContext,
  ): Promise<JsonText> {
    return this.publisher.setStatus(caller, name, body, version, context);
  }
}
