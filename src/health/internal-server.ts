import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { ApiError, errorBody } from '../http/errors.js';
import { isForAddress, isForLoopback, isLoopbackAddress, requestedHost } from '../http/request-context.js';
import type { Address } from '../config/environment.js';
import { answerConnectionErrors, listen } from '../http/server-limits.js';
import type { Metrics } from '../telemetry/metrics.js';
import type { Readiness } from './readiness.js';
import type { VersionReport } from './version-report.js';

/**
 * Starts the internal server (reference/commands). It uses plain node:http and listens before the application is built, because it
 * must respond while migrations run and before the database is reachable.
 */
export async function startInternalServer(
  address: Address,
  state: Readiness,
  version: VersionReport,
  metrics: Metrics,
): Promise<{ readonly port: number; close(): void }> {
  const server = createInternalServer(state, version, metrics);
  return {
    port: await listen(server, address),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function createInternalServer(state: Readiness, version: VersionReport, metrics: Metrics): Server {
  const server = createServer((request, response) => {
    const path = (request.url ?? '').split('?', 1)[0];
    const readable = request.method === 'GET' || request.method === 'HEAD';
    if (isRebound(request))
      send(response, 400, errorBody(new ApiError('host_refused', FOREIGN_HOST), randomUUID()));
    else if (readable && path === '/health') send(response, 200, { status: 'healthy' });
    else if (readable && path === '/version') send(response, 200, version);
    else if (readable && path === '/readiness')
      void state.isReady().then(
        (ready) => send(response, ready ? 200 : 503, { status: ready ? 'ready' : 'not ready' }),
        () => send(response, 503, { status: 'not ready' }),
      );
    else if (readable && path === '/metrics')
      void metrics.exposition().then(
        ({ contentType, text }) => write(response, 200, contentType, text),
        () => send(response, 500, errorBody(new ApiError('internal_error'), randomUUID())),
      );
    else send(response, 404, errorBody(new ApiError('route_not_found'), randomUUID()));
  });
  answerConnectionErrors(server);
  return server;
}

const FOREIGN_HOST =
  'On a loopback address, the Host header must be an address or a loopback name such as localhost';

/**
 * Whether a page in a browser on this machine may have sent the request, under a name of its own that resolves to
 * loopback (DNS rebinding). On other addresses, any name is accepted: monitoring and probes use names that only they
 * know.
 */
function isRebound(request: IncomingMessage): boolean {
  return (
    isLoopbackAddress(request.socket.localAddress ?? '') &&
    requestedHost(request) !== undefined &&
    !isForLoopback(request) &&
    !isForAddress(request)
  );
}

function send(response: ServerResponse, status: number, body: object): void {
  write(response, status, 'application/json; charset=utf-8', JSON.stringify(body));
}

function write(response: ServerResponse, status: number, contentType: string, text: string): void {
  response.writeHead(status, { 'Content-Type': contentType, 'Cache-Control': 'no-store' });
  response.end(text);
}
