import { type CanActivate, Controller, Inject, Injectable, Req, Res, UseGuards } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Loaded, type LoadedRequest, Route } from '../auth/route.js';
import { authenticationConfig, corsConfig } from '../config/slices.js';
import { SentJson, UnvalidatedBody } from '../http/body.js';
import { ApiError, methodNotAllowed } from '../http/errors.js';
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
    throw methodNotAllowed(['POST']);
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

  @Route('POST', '', {
    access: 'caller',
    audit: 'catalog.read',
    loads: 'view',
    body: { type: McpMessage, description: 'One JSON-RPC 2.0 message', maxBytes: MAX_MESSAGE_BYTES },
    writesNothing: true,
    operationId: 'callMcp',
    summary: 'The registry as an MCP server: streamable HTTP, stateless',
    description:
      'Its tools are `search_servers`, `get_server`, `search_skills`, `get_skill` and `how_to_connect`; they return ' +
      'what the routes of the registry return to the same caller. An `Origin` must be this server or one of `cors.origins`.',
    answer: { type: McpMessage, description: 'The response to a request, tool errors included' },
    also: [{ status: 202, description: 'The empty response to a notification' }],
    errors: ['origin_refused', 'search_too_broad', 'content_too_large'],
  })
  async post(
    @Loaded() access: VerifiedAccess,
    @UnvalidatedBody() { json: message }: SentJson,
    @Req() request: LoadedRequest,
    @Res() response: Response,
  ): Promise<void> {
    this.origins.check(request);
    const { status, body } = await this.endpoint.answer(access, request, message);
    response.setHeader('Cache-Control', 'no-store');
    if (body !== '') response.setHeader('Content-Type', 'application/json; charset=utf-8');
    response.status(status).end(body);
  }

  @Route('ALL', '', { access: 'public', audit: null, writesNothing: true, openApi: false })
  @UseGuards(PostOnly)
  otherMethod(): void {}
}
