import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import type { ConnectionConfig } from '../connection.js';

/** What PostgreSQL told a connection about itself when it began (BackendKeyData). */
export interface BackendKey {
  readonly processID: number;
  readonly secretKey: number;
}

const CANCEL_REQUEST = 80_877_102;
const SSL_REQUEST = 80_877_103;
/** It takes milliseconds; PostgreSQL waits as little for the next one. */
const TIMEOUT_MS = 1_000;

/**
 * Asks PostgreSQL to cancel what a connection is doing, on a connection of its own (PostgreSQL manual, "Canceling Requests in
 * Progress"). Unlike pg_cancel_backend it works through a pooler, and takes no connection that others need.
 *
 * Resolves when the request has been dealt with: what that connection runs from then on is not meant.
 *
 * @throws Error when the request may not have arrived.
 */
export function cancelStatement(connection: ConnectionConfig, backend: BackendKey): Promise<void> {
  const { host, port, ssl } = connection;
  const socket = host.startsWith('/') ? connectTcp(join(host, `.s.PGSQL.${port}`)) : connectTcp(port, host);
  return new Promise((resolve, reject) => {
    // PostgreSQL answers nothing and closes.
    const send = (over: Socket) => {
      over.once('error', reject).once('close', () => resolve());
      over.write(int32s(16, CANCEL_REQUEST, backend.processID, backend.secretKey));
    };
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('PostgreSQL takes no request to cancel')));
    if (!ssl || host.startsWith('/')) {
      send(socket);
      return;
    }
    const refuse = () => reject(new Error('PostgreSQL does not begin TLS'));
    socket.once('error', reject).once('close', refuse);
    socket.write(int32s(8, SSL_REQUEST));
    socket.once('data', (answer: Buffer) => {
      if (answer.toString('latin1') !== 'S') {
        socket.destroy();
        return;
      }
      socket.off('close', refuse);
      send(connectTls({ host, ...(isIP(host) ? {} : { servername: host }), ...ssl, socket }).resume());
    });
  });
}

function int32s(...numbers: number[]): Buffer {
  const bytes = Buffer.alloc(4 * numbers.length);
  numbers.forEach((number, index) => bytes.writeInt32BE(number | 0, 4 * index));
  return bytes;
}
