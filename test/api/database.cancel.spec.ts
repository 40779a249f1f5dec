import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { expect, it } from 'vitest';
import { cancelStatement } from '../../dist/database/search-pool.js';
import { makeCertificates } from '../support/certificates.js';

const BACKEND = { processID: 4711, secretKey: -2 };
/** PostgreSQL manual, "Message Formats": SSLRequest, and CancelRequest with the key above. */
const SSL_REQUEST = '0000000804d2162f';
const CANCEL_REQUEST = '0000001004d2162e00001267fffffffe';

/** Cancels a statement at a fake PostgreSQL server and returns the bytes it received. */
async function cancelAt(
  ssl: false | object,
  answer: (client: Socket, receive: (bytes: Buffer) => void) => void,
): Promise<string[]> {
  const received: string[] = [];
  const server = createServer((client) => {
    client.on('error', () => undefined);
    answer(client, (bytes) => received.push(bytes.toString('hex')));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const at = { host: '127.0.0.1', port, user: 'u', database: 'd', poolMax: 1, ssl };
  try {
    await cancelStatement(at, BACKEND);
  } finally {
    server.close();
  }
  return received;
}

const certificates = makeCertificates();

it('a statement is cancelled with the key of its connection', async () => {
  const received = await cancelAt(false, (client, receive) => {
    client.once('data', (bytes: Buffer) => {
      receive(bytes);
      client.end();
    });
  });
  expect(received).toEqual([CANCEL_REQUEST]);
});

it('the cancel key is sent over TLS when the connection uses TLS', async () => {
  const received = await cancelAt({ ca: certificates.ca }, (client, receive) => {
    client.once('data', (bytes: Buffer) => {
      receive(bytes);
      client.write('S');
      const secure = new TLSSocket(client, { isServer: true, ...certificates });
      secure.once('data', (request: Buffer) => {
        receive(request);
        secure.end();
      });
    });
  });
  expect(received).toEqual([SSL_REQUEST, CANCEL_REQUEST]);
});

it.each<[string, object, string]>([
  ['does not support TLS', { ca: certificates.ca }, 'N'],
  ['has an untrusted certificate', {}, 'S'],
])('the cancel key is not sent to a server that %s', async (_, ssl, byte) => {
  const received: string[] = [];
  const cancelled = cancelAt(ssl, (client, receive) => {
    client.once('data', (bytes: Buffer) => {
      receive(bytes);
      received.push(bytes.toString('hex'));
      client.write(byte);
      if (byte !== 'S') return;
      const secure = new TLSSocket(client, { isServer: true, ...certificates });
      secure.on('error', () => undefined);
      secure.on('data', (request: Buffer) => received.push(request.toString('hex')));
    });
  });
  await expect(cancelled).rejects.toThrow();
  expect(received).toEqual([SSL_REQUEST]);
});
