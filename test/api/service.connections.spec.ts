import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DatabaseAddress } from '../support/database-address.js';
import { aServer } from '../support/documents.js';
import { call } from '../support/http.js';
import { expectRefused } from '../support/matchers.js';
import { aName } from '../support/publishing.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

const A_WHILE = 30_000;
/** SQLSTATE of a server, database or role whose connections are all in use. */
const TOO_MANY_CONNECTIONS = '53300';

const address = new DatabaseAddress();
const service = aService()
  .source('internal', { kind: 'managed' })
  .source('file', { servers: [aServer('io.acme/file')] })
  .registry('main', { sources: ['internal', 'file'] })
  .runs();

beforeAll(async () => {
  await address.listen();
  address.leadTo(service.database);
  const { host: _host, ...connection } = service.database.connection;
  await service.restart((edited) =>
    edited.configuration({ database: { ...connection, host: '127.0.0.1', port: address.port } }),
  );
});
afterAll(() => address.close());

const list = (limit: number) => service.get(`/registry/main/v0.1/servers?limit=${limit}`);
const search = () => service.get('/registry/main/x/search?q=file');
const publish = () => service.post('/v1/entries', { server: aServer(aName()) });
const internal = async (path: string) => (await call(`${service.internalOrigin}${path}`)).status;

/** Leaves the server this many connections, until `address.accept()`. */
function leave(connections: number): void {
  address.refuse(TOO_MANY_CONNECTIONS, connections);
  address.leadTo(service.database);
}

describe('a PostgreSQL server whose connections others use', () => {
  // Readiness checks may take one of them.
  it.each([2, 4])('makes requests wait for the %i that this server has', async (connections) => {
    leave(connections);
    try {
      await within(A_WHILE, async () => expect((await publish()).status).toBe(201));
      let limit = 0;
      do {
        limit %= 90;
        const sent = Array.from({ length: 10 }, () => [list((limit += 1)), publish()]).flat();
        const statuses = (await Promise.all(sent)).map(({ status }) => status);
        expect(statuses.filter((status) => status >= 400)).toEqual([]);
        // A pool that has just been refused a connection does not ask for one.
      } while (address.refused === 0);
      expect(await internal('/readiness')).toBe(200);
    } finally {
      address.accept();
    }
  });

  it('makes requests fail with 503 overloaded if it has none, until it gets one', async () => {
    leave(0);
    try {
      for (const reply of await Promise.all([list(1), publish(), search()])) {
        expectRefused(reply, 503, 'overloaded');
        expect(reply.headers['retry-after']).toBe('2');
      }
      expect(await internal('/readiness')).toBe(503);
      expect(await internal('/health')).toBe(200);
    } finally {
      address.accept();
    }
    await within(A_WHILE, async () => expect(await internal('/readiness')).toBe(200));
    for (const { status } of await Promise.all([list(1), publish(), search()]))
      expect(status).toBeLessThan(300);
  });
});
