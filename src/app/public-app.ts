import type { Server } from 'node:http';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import express from 'express';
import type { Logger } from 'pino';
import { requestCaller } from '../auth/caller.js';
import { ClaimHints } from '../auth/claim-mapping.js';
import { type Config, oauthInUse } from '../config/config.js';
import type { OpenDatabase } from '../database/open-database.js';
import { corsFor } from '../http/cors.js';
import { refuseUnclearHost } from '../http/host-header.js';
import { JsonAnswersAdapter } from '../http/json-answers.adapter.js';
import { publishOpenApi } from '../http/openapi/openapi.js';
import { dropTrailingSlash, followRegistryPaths } from '../http/registry-paths.js';
import { requestIdFor } from '../http/request-context.js';
import {
  answerConnectionErrors,
  answerInTurn,
  limitConnections,
  limitRequests,
  limitUnreadBytes,
  RequestTurns,
} from '../http/server-limits.js';
import { HttpMetrics } from '../telemetry/http-metrics.js';
import { NestLogger } from '../telemetry/logger.js';
import type { Metrics } from '../telemetry/metrics.js';
import { requestLog, resumeTrace } from '../telemetry/request-log.js';
import { admitKeys, RegistryCallers } from '../views/callers-without-token.js';
import { warnIfOpen } from './anonymous-mode-warning.js';
import { AppModule } from './app.module.js';
import { refuseForeignHosts, refuseForeignOrigins } from './browser-guards.js';
import { securityHeaders, setHeaders } from './security-headers.js';

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
    requestLog(logger, new HttpMetrics(metrics), requestIdFor, requestCaller, (request, { code }) => {
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
