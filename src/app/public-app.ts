import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { CorsOptions, CorsOptionsDelegate } from '@nestjs/common/internal';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import express, { type NextFunction, type Request, type Response } from 'express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import { requestCaller } from '../auth/caller.js';
import { ClaimHints } from '../auth/claim-mapping.js';
import { OAuthInForce } from '../auth/oauth-in-force.js';
import type { Config, OAuthConfig } from '../config/config.js';
import type { OpenDatabase } from '../database/open-database.js';
import { ApiError } from '../http/errors.js';
import { JsonAnswersAdapter } from '../http/json-answers.js';
import { publishOpenApi } from '../http/openapi/openapi.js';
import { dropTrailingSlash, followRegistryPaths } from '../http/registry-paths.js';
import { isForLoopback, isLoopbackAddress, requestedHost, requestIdFor } from '../http/request-context.js';
import {
  answerConnectionErrors,
  limitConnections,
  limitPipelining,
  limitRequests,
  limitUnreadBytes,
  type Middleware,
  startInTurn,
} from '../http/server-limits.js';
import { NestLogger } from '../telemetry/logger.js';
import type { Metrics } from '../telemetry/metrics.js';
import { HttpMetrics, requestLog, resumeTrace } from '../telemetry/requests.js';
import { OpenRegistryCallers } from '../visibility/open-registry-callers.js';
import { AppModule } from './app.module.js';

/** The consumer API, discovery and OpenAPI: the only paths with CORS headers. */
const SHARED = /^\/(registry(\/|$)|\.well-known\/|openapi\.(json|yaml)$)/;

/** MCP endpoints, where reads use POST (reference/mcp). */
const MCP = /^\/registry\/[^/]+\/mcp$/;

/**
 * reference/catalog: sends `Access-Control-*` only on the consumer API, discovery and OpenAPI, even on error responses.
 *
 * @param origins `['*']`, or the exact origins that may read responses.
 */
function corsFor(origins: readonly string[]): CorsOptionsDelegate<Request> {
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
    allowedHeaders: 'Authorization, Content-Type, Mcp-Protocol-Version, Mcp-Method, Mcp-Name',
  };
  return (request, callback) => {
    if (MCP.test(request.path)) callback(null, ofMcp);
    else callback(null, SHARED.test(request.path) ? shared : { origin: false });
  };
}

/** RFC 9112 §3.2: refuses HTTP/1.1 requests without a Host header, and all requests with several Host headers. */
function refuseUnclearHost(
  { headers, httpVersion, rawHeaders }: IncomingMessage,
  _response: ServerResponse,
  next: (error?: unknown) => void,
): void {
  const isMissing = headers.host === undefined && httpVersion === '1.1';
  next(isMissing || hasTwoHosts(rawHeaders) ? new ApiError('malformed_request') : undefined);
}

// Node keeps only the first Host header, but a proxy may have used the second.
function hasTwoHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let position = 0; position < rawHeaders.length; position += 2)
    if (rawHeaders[position]?.length === 4 && rawHeaders[position]?.toLowerCase() === 'host') hosts += 1;
  return hosts > 1;
}

/**
 * reference/access, anonymous mode: while the server listens on a loopback address, requests for other hosts get 400
 * `host_refused`. A page whose host name was rebound to this machine (DNS rebinding) sends such requests: the browser
 * considers them same-origin, and without tokens no other check would stop them.
 */
function refuseForeignHosts(server: Server): Middleware {
  let onLoopback = false;
  server.once('listening', () => (onLoopback = listensOnLoopback(server)));
  return (request, _response, next) => {
    next(onLoopback && !isForLoopback(request) ? new ApiError('host_refused') : undefined);
  };
}

/**
 * reference/access, anonymous mode: unsafe requests from pages of other origins get 403 `origin_refused`. Browsers send `Origin`
 * with every unsafe request; other clients do not send it.
 *
 * @param origins `cors.origins`; `*` applies only to reads and is ignored here.
 */
function refuseForeignOrigins(origins: readonly string[]): Middleware {
  const named = new Set(origins.filter((origin) => origin !== '*'));
  return (request, _response, next) => {
    const { origin } = request.headers;
    const isForeign =
      !SAFE_METHODS.has(request.method ?? '') &&
      origin !== undefined &&
      !named.has(origin) &&
      origin !== ownOrigin(request);
    next(isForeign ? new ApiError('origin_refused') : undefined);
  };
}

/** Returns whether the server is reachable only from this machine. */
function listensOnLoopback(server: Server): boolean {
  const address = server.address();
  return address !== null && typeof address !== 'string' && isLoopbackAddress(address.address);
}

// RFC 9110 §9.2.1, without TRACE, which no browser sends and no route supports.
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

// Assumes plain HTTP. Behind a proxy that terminates TLS, cors.origins must list the https origin.
function ownOrigin(request: IncomingMessage): string | undefined {
  const url = `http://${requestedHost(request) ?? ''}`;
  return URL.canParse(url) ? new URL(url).origin : undefined;
}

/**
 * Warns unless the server listens only on loopback: in anonymous mode, anyone who can reach the port can change
 * anything.
 */
function warnIfOpen(server: Server, logger: Logger): void {
  server.once('listening', () => {
    if (!listensOnLoopback(server))
      logger.warn(
        { context: 'http' },
        'Anonymous mode on an address that other machines can reach: anyone who reaches it can change everything. Set readOnly to prevent this',
      );
  });
}

/**
 * Sends the security headers of all responses. Omits HSTS and upgrade-insecure-requests: TLS, if any, is terminated in
 * front of this server. /docs loads files only from this server, and connects to the identity providers for login.
 */
function securityHeaders(oauth: OAuthConfig | null): Middleware {
  const logins = new Set(
    (oauth?.providers ?? []).flatMap(({ issuerUrl, connectOrigins }) => [
      new URL(issuerUrl).origin,
      ...connectOrigins,
    ]),
  );
  return helmet({
    strictTransportSecurity: false,
    crossOriginOpenerPolicy: false,
    // Pages from the origins that CORS allows may read responses.
    crossOriginResourcePolicy: false,
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'self'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'", "'unsafe-inline'"],
        imgSrc: ["'self'", 'data:'],
        connectSrc: ["'self'", ...logins],
        frameAncestors: ["'none'"],
        objectSrc: ["'none'"],
        baseUri: ["'self'"],
      },
    },
  });
}

/**
 * reference/access: a wrong or expired key gets the same response as an unknown registry, before method, path and token
 * are checked.
 */
function admitKeys(
  callers: OpenRegistryCallers,
): (request: Request, response: Response, next: NextFunction) => void {
  return (request, _response, next) => {
    const { registryKey } = request;
    if (!registryKey) {
      next();
      return;
    }
    callers.admit(request, registryKey).then(
      (isAdmitted) => next(isAdmitted ? undefined : new ApiError('registry_not_found')),
      (error: unknown) => next(error),
    );
  };
}

/** Creates the public application, ready to listen. Middleware runs in the order listed, then the steps of AppModule. */
export async function createPublicApp(
  config: Config,
  database: OpenDatabase,
  logger: Logger,
  metrics: Metrics,
  version: string,
): Promise<NestExpressApplication> {
  const server = express();
  // Express would otherwise treat /V1/Sources and /v1/sources/ as aliases.
  server.set('case sensitive routing', true);
  server.set('strict routing', true);
  server.set('x-powered-by', false);
  server.set('etag', false);
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.with(config, database, metrics),
    new JsonAnswersAdapter(server),
    { logger: new NestLogger(logger), bodyParser: false, abortOnError: false },
  );
  const inForce = app.get(OAuthInForce);
  const isAnonymous = inForce.settings === null;
  const httpServer: Server = app.getHttpServer();
  httpServer.prependListener('request', followRegistryPaths(config.rootRegistry));
  answerConnectionErrors(httpServer);
  limitConnections(httpServer, config.limits);
  const hints = new ClaimHints();
  app.use(
    requestLog(logger, new HttpMetrics(metrics), requestIdFor, requestCaller, (request, { code }) => {
      const caller = requestCaller(request);
      if (caller) hints.refused(caller, code, request.id);
    }),
  );
  app.use(dropTrailingSlash);
  app.use(limitPipelining());
  app.use(startInTurn());
  app.use(resumeTrace);
  app.use(refuseUnclearHost);
  if (isAnonymous) app.use(refuseForeignHosts(httpServer));
  const secure = inForce.derive(securityHeaders);
  app.use((...args: Parameters<Middleware>) => secure()(...args));
  app.enableCors(corsFor(config.cors.origins));
  // After CORS: pages must be able to read the 503.
  app.use(limitRequests(config.limits));
  app.use(limitUnreadBytes());
  if (isAnonymous) app.use(refuseForeignOrigins(config.cors.origins));
  app.use(admitKeys(app.get(OpenRegistryCallers)));
  publishOpenApi(app, version, (compute) => inForce.derive(compute));
  if (isAnonymous && !config.readOnly) warnIfOpen(httpServer, logger);
  return app;
}
