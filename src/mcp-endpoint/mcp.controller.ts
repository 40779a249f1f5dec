import {
  All,
  type CanActivate,
  Controller,
  Inject,
  Injectable,
  Post,
  Req,
  Res,
  UseGuards,
} from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import {
  ApiAcceptedResponse,
  ApiBody,
  ApiExcludeEndpoint,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import type { Request, Response } from 'express';
import {
  AnyCaller,
  Audited,
  Loaded,
  type LoadedRequest,
  Public,
  ReadByPost,
  RegistryRoute,
} from '../auth/route.js';
import { WritesNothing } from '../authz/roles.guard.js';
import { authenticationConfig, corsConfig } from '../config/slices.js';
import { SentJson, TakesBody, UnvalidatedBody } from '../http/body.js';
import { ApiError } from '../http/errors.js';
import { ApiErrors } from '../http/openapi/api-answers.js';
import type { VerifiedAccess } from '../visibility/registry-views.js';
import { McpEndpoint } from './mcp-endpoint.js';
import { McpMessage } from './mcp.dto.js';

const SENTENCE = 'Only pages from this server or from cors.origins may use this endpoint';

/**
 * Validates `Origin` (MCP 2025-11-25 basic/transports): allows the server's own origin and `cors.origins`
 * (reference/mcp). In anonymous mode, `refuseForeignOrigins` has already refused foreign origins, even if `*` allows
 * them here.
 */
@Injectable()
export class McpOrigins {
  private readonly named: ReadonlySet<string>;

  constructor(
    @Inject(corsConfig.KEY) { origins }: ConfigType<typeof corsConfig>,
    @Inject(authenticationConfig.KEY) { oauth }: ConfigType<typeof authenticationConfig>,
  ) {
    this.named = new Set([...origins, ...(oauth ? [new URL(oauth.resourceUrl).origin] : [])]);
  }

  /** @throws ApiError 403 `origin_refused` */
  check({ headers: { origin, host } }: Pick<Request, 'headers'>): void {
    if (origin === undefined || this.named.has('*') || this.named.has(origin)) return;
    if (origin !== `http://${host}` && origin !== `https://${host}`)
      throw new ApiError('origin_refused', SENTENCE);
  }
}

/** Sufficient for tool arguments, which are short, and client information. */
const MAX_MESSAGE_BYTES = 64 * 1_024;

/** MCP 2025-11-25 basic/transports: there is no stream for GET and no session for DELETE. */
class PostOnly implements CanActivate {
  canActivate(): never {
    throw new ApiError('method_not_allowed', 'This path only supports POST', undefined, {
      headers: { Allow: 'POST' },
    });
  }
}

/** Serves a registry as an MCP server (reference/mcp). */
@ApiTags('catalog')
@Controller('registry/:registry/mcp')
export class McpController {
  constructor(
    private readonly endpoint: McpEndpoint,
    private readonly origins: McpOrigins,
  ) {}

  @Post()
  @AnyCaller()
  @RegistryRoute()
  @ReadByPost()
  @WritesNothing(() => true)
  @TakesBody({ maxBytes: MAX_MESSAGE_BYTES })
  @Audited('catalog.read')
  @ApiOperation({
    operationId: 'callMcp',
    summary: 'The registry as an MCP server: streamable HTTP, stateless',
    description:
      'Its tools are `search_servers`, `get_server`, `search_skills`, `get_skill` and `how_to_connect`; they return ' +
      'what the routes of the registry return to the same caller. An `Origin` must be this server or one of `cors.origins`.',
  })
  @ApiBody({ type: McpMessage, description: 'One JSON-RPC 2.0 message' })
  @ApiOkResponse({
    type: McpMessage,
    description: 'The response to a request, tool errors included',
  })
  @ApiAcceptedResponse({ description: 'The empty response to a notification' })
  @ApiErrors('origin_refused', 'search_too_broad', 'content_too_large')
  async post(
    @Loaded() access: VerifiedAccess,
    @UnvalidatedBody() { json: message }: SentJson,
    @Req() request: LoadedRequest,
    @Res() response: Response,
  ): Promise<void> {
    this.origins.check(request);
    const { status, text } = await this.endpoint.answer(access, request, message);
    response.setHeader('Cache-Control', 'no-store');
    if (text !== '') response.setHeader('Content-Type', 'application/json; charset=utf-8');
    response.status(status).end(text);
  }

  @All()
  @Public()
  @UseGuards(PostOnly)
  @WritesNothing(() => true)
  @ApiExcludeEndpoint()
  otherMethod(): void {}
}
