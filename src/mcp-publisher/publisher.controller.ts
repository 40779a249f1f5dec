import {
  Body,
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Header,
  HttpCode,
  Inject,
  Injectable,
  Param,
  Patch,
  Post,
  Req,
  Res,
  UseGuards,
} from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import {
  ApiBody,
  ApiCreatedResponse,
  ApiExcludeEndpoint,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
} from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { type Caller, CurrentCaller } from '../auth/caller.js';
import { AnyCaller, Audited, Loaded, Public, PublisherRoute } from '../auth/route.js';
import { WritesNothing } from '../authz/roles.guard.js';
import { ServerItem } from '../catalog/catalog.responses.js';
import { authenticationConfig } from '../config/slices.js';
import { documentClassOf, ServerStatusBody, StatusBody } from '../entries/entries.dto.js';
import { SentJson, TakesBody, UnvalidatedBody } from '../http/body.js';
import type { JsonText } from '../http/json-answers.js';
import { ApiErrors } from '../http/openapi/api-answers.js';
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
  constructor(
    @Inject(authenticationConfig.KEY) private readonly auth: ConfigType<typeof authenticationConfig>,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const isAnonymous = this.auth.oauth === null;
    if (isAnonymous && context.getHandler() === PublisherController.prototype.anonymousToken) return true;
    throw useOtherLogin(isAnonymous);
  }
}

/** The routes that `mcp-publisher --registry …/registry/{registry}` calls (reference/publishing). */
@ApiTags('publishing')
@Controller(['registry/:registry/v0.1', 'registry/:registry/v0'])
export class PublisherController {
  constructor(private readonly publisher: PublisherService) {}

  @Post('publish')
  @AnyCaller()
  @PublisherRoute('publishers')
  @Audited('entry.publish', 'server')
  @TakesBody({ document: 'body' })
  @ApiOperation({
    operationId: 'publishServer',
    summary:
      'Publishes a version of a server to the managed source, with the `publishClaims` of the registry',
  })
  @ApiBody({ type: documentClassOf('server') })
  @ApiCreatedResponse({ type: ServerItem })
  @ApiOkResponse({ type: ServerItem, description: 'The version waits for a decision: see `_meta`' })
  @ApiErrors(
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
  )
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

  @Post('validate')
  @HttpCode(200)
  @Public()
  @PublisherRoute('anybody')
  @TakesBody({ document: 'body' })
  @WritesNothing(() => true)
  @ApiOperation({
    operationId: 'validateServer',
    summary: 'Validates a server document',
  })
  @ApiBody({ type: documentClassOf('server') })
  @ApiOkResponse({ type: ValidationAnswer })
  validate(@UnvalidatedBody() sent: SentJson): ValidationAnswer {
    return this.publisher.validate(sent);
  }

  @Post('auth/github-oidc')
  @HttpCode(200)
  @Header('Cache-Control', 'no-store')
  @Public()
  @PublisherRoute('anybody')
  @TakesBody()
  @WritesNothing(() => true)
  @ApiOperation({
    operationId: 'exchangeOidcToken',
    summary: 'Verifies the token of a CI workflow and returns it as the token to publish with',
  })
  @ApiBody({ type: TokenExchangeBody })
  @ApiOkResponse({ type: RegistryTokenAnswer })
  @ApiErrors(
    'token_invalid',
    'claims_incomplete',
    'no_subject',
    'caller_blocked',
    'anonymous_mode',
    'too_many_requests',
    'provider_unavailable',
  )
  exchange(
    @Body() { oidc_token: token }: TokenExchangeBody,
    @Req() request: Request,
  ): Promise<RegistryTokenAnswer> {
    return this.publisher.exchange(token, request);
  }

  @Post('auth/none')
  @HttpCode(200)
  @Header('Cache-Control', 'no-store')
  @Public()
  @UseGuards(UnsupportedLogin)
  @PublisherRoute('anybody')
  @WritesNothing(() => true)
  @ApiOperation({
    operationId: 'createAnonymousToken',
    summary: 'Returns a token for clients that need one; in anonymous mode only, where tokens are ignored',
  })
  @ApiOkResponse({ type: RegistryTokenAnswer })
  anonymousToken(): RegistryTokenAnswer {
    return { registry_token: 'anonymous', expires_at: Math.floor(Date.now() / 1_000) + 86_400 };
  }

  // Public, because callers have no token before login.
  @Post('auth/*method')
  @Public()
  @UseGuards(UnsupportedLogin)
  @ApiExcludeEndpoint()
  otherLogin(): void {}

  // `mcp-publisher login github` looks for the client id of a GitHub app here, and shows the answer if it is refused.
  @Get('health')
  @Public()
  @UseGuards(UnsupportedLogin)
  @ApiExcludeEndpoint()
  githubLogin(): void {}

  @Patch('servers/:name/status')
  @Audited('entry.status', 'server')
  @AnyCaller()
  @PublisherRoute('publishers')
  @TakesBody()
  @ApiOperation({ operationId: 'setServerStatus', summary: 'Sets the status of every version of a server' })
  @ApiParam(NAME)
  @ApiBody({ type: ServerStatusBody })
  @ApiOkResponse({ type: ServerStatusAnswer })
  @ApiErrors('entry_not_found', 'change_pending', 'too_many_held')
  setStatus(
    @CurrentCaller() caller: Caller,
    @Param('name') name: string,
    @Body() body: StatusBody,
    @CurrentRequest() context: RequestContext,
  ): Promise<JsonText> {
    return this.publisher.setStatus(caller, name, body, undefined, context);
  }

  @Patch('servers/:name/versions/:version/status')
  @Audited('entry.status', 'server')
  @AnyCaller()
  @PublisherRoute('publishers')
  @TakesBody()
  @ApiOperation({
    operationId: 'setServerVersionStatus',
    summary: 'Sets the status of one version of a server',
  })
  @ApiParam(NAME)
  @ApiParam({ name: 'version', type: String, description: 'One exact version', example: '1.2.0' })
  @ApiBody({ type: ServerStatusBody })
  @ApiOkResponse({ type: ServerItem })
  @ApiErrors('entry_not_found', 'version_not_found', 'change_pending', 'too_many_held')
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
