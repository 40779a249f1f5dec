import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, STATUS_CODES, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ApiError, type ErrorCode, errorBody } from './errors.js';
import { TimeSlice } from '../json/time-slice.js';

/**
 * Gives the error shape to what Node answers before any application code runs: bytes that are no HTTP, headers over the
 * limit, requests that stall, CONNECT, and an Expect header we do not know.
 */
export function answerConnectionErrors(server: Server): void {
  // Node would answer a request without a Host header itself, and without a body; `refuseUnclearHost` does it instead.
  Object.assign(server, { requireHostHeader: false });
  const answered = new WeakSet<Duplex>();
  const slice = new TimeSlice();
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    answered.delete(socket);
    response.once('finish', () => answered.add(socket));
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    // Of a request that was answered before all of it had come, the rest may be anything.
    if (error.code === 'ECONNRESET' || !socket.writable || answered.has(socket)) {
      socket.destroy();
      return;
    }
    // Node finds all requests that took too long at once, and there may be thousands.
    void slice.pause().then(() => writeRaw(socket, codeOf(error)));
  });
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => socket.destroy());
    writeRaw(socket, 'route_not_found');
  });
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const error = new ApiError('expectation_failed');
    const body = JSON.stringify(errorBody(error, randomUUID()));
    response.writeHead(error.status, {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
    });
    response.end(body);
  });
}

function codeOf(error: NodeJS.ErrnoException): ErrorCode {
  if (error.code === 'HPE_HEADER_OVERFLOW') return 'headers_too_large';
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request_timeout';
  return 'malformed_request';
}

function writeRaw(socket: Duplex, code: ErrorCode): void {
  if (!socket.writable) return void socket.destroy();
  const error = new ApiError(code);
  const body = JSON.stringify(errorBody(error, randomUUID()));
  socket.end(
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n` +
      `Content-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `Connection: close\r\n\r\n${body}`,
  );
}
