import { Controller, Req } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request } from 'express';
import { resourceMetadataUrl } from '../auth/bearer-token.js';
import { OAuthInForce } from '../auth/oauth-in-force.js';
import { Route } from '../auth/route.js';
import type { OAuthConfig } from '../config/config.js';
import { ApiError, methodNotAllowed } from '../http/errors.js';
import { JsonText } from '../http/json-answers.js';
import { ProtectedResource } from './discovery.responses.js';

const METHODS = ['GET', 'HEAD'];

/** Protected resource metadata: where clients get tokens for this server (RFC 9728). */
@ApiTags('discovery')
@Controller('.well-known/oauth-protected-resource')
export class DiscoveryController {
  private readonly document: () => JsonText | null;
  private readonly path: string;

  constructor(inForce: OAuthInForce) {
    this.document = inForce.derive((oauth) => oauth && new JsonText(JSON.stringify(describe(oauth))));
    const { settings } = inForce;
    this.path = settings ? new URL(resourceMetadataUrl(settings.resourceUrl)).pathname : '';
  }

  @Route('GET', '', {
    access: 'public',
    audit: null,
    operationId: 'getProtectedResource',
    summary: 'Where clients get a token (RFC 9728); absent in anonymous mode',
    answer: ProtectedResource,
    errors: ['route_not_found'],
  })
  get(): JsonText {
    const document = this.document();
    if (!document) throw new ApiError('route_not_found');
    return document;
  }

  /** The alias with the path of `resourceUrl` appended (RFC 9728 §3.1). */
  @Route('ALL', '*path', { access: 'public', audit: null, writesNothing: true, openApi: false })
  getBelowPath(@Req() { method, path }: Request): JsonText {
    const document = this.document();
    if (!document || path !== this.path) throw new ApiError('route_not_found');
    // The router answers 405 only for paths that it knows.
    if (!METHODS.includes(method)) throw methodNotAllowed(METHODS);
    return document;
  }
}

function describe(oauth: OAuthConfig): ProtectedResource {
  const issuers = new Set(oauth.providers.map(({ issuerUrl }) => issuerUrl));
  return {
    resource: oauth.resourceUrl,
    authorization_servers: [...issuers],
    scopes_supported: [...oauth.scopesSupported],
    bearer_methods_supported: ['header'],
    ...(oauth.resourceDocumentation === undefined
      ? {}
      : { resource_documentation: oauth.resourceDocumentation }),
  };
}
