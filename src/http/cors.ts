import type { CorsOptions, CorsOptionsDelegate } from '@nestjs/common/internal';
import type { Request } from 'express';

/** The consumer API, discovery and OpenAPI: the only paths with CORS headers. */
const SHARED = /^\/(registry(\/|$)|\.well-known\/|openapi\.json$)/;

/** MCP endpoints, where reads use POST (contract §6.3). */
const MCP = /^\/registry\/[^/]+\/mcp$/;

/**
 * contract §6: sends `Access-Control-*` only on the consumer API, discovery and OpenAPI, error responses included.
 *
 * @param origins `['*']`, or the exact origins that may read responses.
 */
export function corsFor(origins: readonly string[]): CorsOptionsDelegate<Request> {
  const shared: CorsOptions = {
    origin: origins.includes('*') ? '*' : [...origins],
    methods: 'GET, OPTIONS',
    allowedHeaders: 'Authorization, Content-Type',
    exposedHeaders: 'WWW-Authenticate, ETag',
    maxAge: 600,
    optionsSuccessStatus: 204,
  };
  const ofMcp: CorsOptions = {
    ...shared,
    methods: 'POST, OPTIONS',
    allowedHeaders: 'Authorization, Content-Type, Mcp-Protocol-Version',
  };
  return (request, callback) => {
    if (MCP.test(request.path)) callback(null, ofMcp);
    else callback(null, SHARED.test(request.path) ? shared : { origin: false });
  };
}
