import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DatabaseAddress } from '../support/database-address.js';
import { aServer } from '../support/documents.js';
import { call } from '../support/http.js';
import { expectRefused, versionsIn } from '../support/matchers.js';
import { aName } from '../support/publishing.js';
import { aService } from '../support/service.js';
import { inSoak } from '../support/soak.js';
import { within } from '../support/within.js';

const A_WHILE = 30_000;
/** SQLSTATE of a server, database or role whose connections are all in use. */
const TOO_MANY_CONNECTIONS = '53300';
/** How often the server's connections are cut. */
const CUTS = inSoak(60, 5);
/** Pause between the requests of one client, ms. */
const THINKING_MS = inSoak(10, 50);

const address = new DatabaseAddress();
const service = aService()
  .source('internal', { kind: 'managed' })
  .source('file', { servers: [aServer('io.acme/file')] })
  .registry('main', { sources: ['internal', 'file'] })
  .configuration({ limits: { searchesPerCaller: 100 } })
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

/** Leaves the server this many connections until `address.accept()`. */
function leave(connections: number): void {
  address.refuse(TOO_MANY_CONNECTIONS, connections);
  address.leadTo(service.database);
}

describe('a PostgreSQL server whose connections are used by others', () => {
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
      await within(A_WHILE, async () => expect(await internal('/readiness')).toBe(200));
    } finally {
      address.accept();
    }
  });

  it('makes requests fail with 503 overloaded if it has none, until it gets one', async () => {
    leave(0);
    try {
      // A publication whose connection is cut gets database_unavailable.
      await within(A_WHILE, async () => expect(await internal('/readiness')).toBe(503));
      for (const reply of await Promise.all([list(1), publish(), search()])) {
        expectRefused(reply, 503, 'overloaded');
        expect(reply.headers['retry-after']).toBe('2');
      }
      expect(await internal('/health')).toBe(200);
    } finally {
      address.accept();
    }
    await within(A_WHILE, async () => expect(await internal('/readiness')).toBe(200));
    for (const { status } of await Promise.all([list(1), publish(), search()]))
      expect(status).toBeLessThan(300);
  });
});

describe('a server whose database connections are cut repeatedly', () => {
  it('keeps responding and recovers fully', async () => {
    // Each search is new, so none is cached.
    const sought = () => service.get(`/registry/main/v0.1/servers?search=${randomUUID()}`);
    const statuses = new Set<number>();
    let cutting = true;
    const load = Promise.all(
      Array.from({ length: 12 }, async () => {
        while (cutting) {
          statuses.add((await sought()).status);
          await pause(THINKING_MS);
        }
      }),
    );
    for (let cut = 0; cut < CUTS; cut += 1) {
      await service.database.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid()`,
      );
      await sought();
    }
    cutting = false;
    await load;
    await within(A_WHILE, async () => expect((await sought()).status).toBe(200));
    expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([]);
  });
});

describe('a server that starts while PostgreSQL refuses connections', () => {
  it.each([
    [TOO_MANY_CONNECTIONS, 0],
    ['57P03', 2],
  ])('waits for it: with SQLSTATE %s after %i connections', async (state, accepted) => {
    await service.stop();
    address.refuse(state, accepted);
    const started = service.start();
    await within(A_WHILE, () => expect(address.refused).toBeGreaterThan(1));
    address.accept();
    await started;
    expect(versionsIn(await list(1))).toHaveLength(1);
  });
});
