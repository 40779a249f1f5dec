import { type ClientRequest, IncomingMessage, type Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import express from 'express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import { AppModule } from './app.module.js';
import { listensOnLoopback, refuseForeignHosts, refuseForeignOrigins } from './browser-guards.js';
import { ClaimHints } from '../auth/claim-hints.js';
import { requestCaller } from '../auth/current-caller.js';
import type { Config, OAuthConfig } from '../config/config.js';
import { oauthInUse } from '../config/oauth-in-use.js';
import type { OpenDatabase } from '../database/open-database.js';
import { answerConnectionErrors, refuseUnclearHost } from '../http/connection-errors.js';
import { corsFor } from '../http/cors.js';
import {
  answerInTurn,
  limitConnections,
  limitRequests,
  limitUnreadBytes,
} from '../http/limits/server-limits.js';
import { followRegistryPaths } from '../http/registry-paths.js';
import { JsonAnswersAdapter } from '../http/json-answers.adapter.js';
import { publishOpenApi } from '../http/openapi/openapi.js';
import { dropTrailingSlash } from '../http/trailing-slash.js';
import { NestLogger } from '../telemetry/logger.js';
import type { Metrics } from '../telemetry/metrics.js';
import { RequestTurns } from '../http/limits/request-turns.js';
import { HttpMetrics } from '../telemetry/http-metrics.js';
import { requestLog, resumeTrace } from '../telemetry/request-log.js';
import { RegistryCallers } from '../views/registry-callers.js';
import { admitKeys } from './admit-keys.js';

/** The public application, ready to listen: every step a request passes before Nest's own, in running order. */
export async function createPublicApp(
  config: Config,
  database: OpenDatabase,
  logger: Logger,
  metrics: Metrics,
  version: string,
): Promise<NestExpressApplication> {
  const server = express();
  // Off by default in Express: /V1/Sources and /v1/sources/ would be aliases that no rule was written for.
  server.set('case sensitive routing', true);
  server.set('strict routing', true);
  server.set('x-powered-by', false);
  server.set('etag', false);
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.with(config, database, metrics),
    new JsonAnswersAdapter(server),
    { logger: new NestLogger(logger), bodyParser: false, abortOnError: false },
  );
  const oauth = oauthInUse(config.auth);
  const httpServer: Server = app.getHttpServer();
  httpServer.prependListener('request', followRegistryPaths(config.rootRegistry));
  answerConnectionErrors(httpServer);
  limitConnections(httpServer, config.limits);
  const hints = new ClaimHints();
  app.use(
    requestLog(logger, new HttpMetrics(metrics), requestCaller, (request, { code }) => {
      const caller = requestCaller(request);
      if (caller) hints.refused(caller, code, request.id);
    }),
  );
  app.use(dropTrailingSlash);
  app.use(answerInTurn(config.limits));
  app.use(new RequestTurns(httpServer).middleware);
  app.use(resumeTrace);
  app.use(limitRequests(config.limits));
  app.use(limitUnreadBytes());
  app.use(refuseUnclearHost);
  if (!oauth) app.use(refuseForeignHosts(httpServer));
  app.use(setHeaders(securityHeaders(oauth)));
  app.enableCors(corsFor(config.cors.origins));
  if (!oauth) app.use(refuseForeignOrigins(config.cors.origins));
  app.use(admitKeys(app.get(RegistryCallers)));
  publishOpenApi(app, { version, oauth });
  if (!oauth && !config.readOnly) warnIfOpen(httpServer, logger);
  return app;
}

// Whoever reaches the port may then change everything: that is for whoever runs the server to have meant.
function warnIfOpen(server: Server, logger: Logger): void {
  server.once('listening', () => {
    if (!listensOnLoopback(server))
      logger.warn(
        { context: 'http' },
        'Anonymous mode on an address that others can reach: everybody there may change everything, unless readOnly is set',
      );
  });
}

// No HSTS and no upgrade of requests: TLS ends in front of this server, if anywhere. The pages of /docs load only what
// comes from here; to log in they ask the identity providers for their discovery document and for the token.
function securityHeaders(oauth: OAuthConfig | undefined): ReadonlyMap<string, string> {
  const logins = new Set(
    (oauth?.providers ?? []).flatMap(({ issuerUrl, connectOrigins }) => [
      new URL(issuerUrl).origin,
      ...connectOrigins,
    ]),
  );
  const middleware = helmet({
    strictTransportSecurity: false,
    crossOriginOpenerPolicy: false,
    // Answers are meant to be read by pages of the origins that CORS names.
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
  // They are the same on every answer: helmet is asked once.
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  middleware(request, response, () => undefined);
  // With the names as helmet writes them. The types know this of requests alone.
  const { getRawHeaderNames } = response as unknown as Pick<ClientRequest, 'getRawHeaderNames'>;
  return new Map(getRawHeaderNames.call(response).map((name) => [name, String(response.getHeader(name))]));
}

function setHeaders(
  headers: ReadonlyMap<string, string>,
): (request: IncomingMessage, response: ServerResponse, next: () => void) => void {
  return (_request, response, next) => {
    for (const [name, value] of headers) response.setHeader(name, value);
    next();
  };
}
