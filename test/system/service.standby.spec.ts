import { chown, cp, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../dist/database/embedded/embedded-postgres.js';
import { SUPER_ADMIN } from '../support/callers.js';
import {
  answerOf,
  answersTo,
  aServiceOfAllRoutes,
  GONE,
  KEPT,
  publishAll,
  REQUESTS,
  SERVERS,
  uncoveredRoutes,
} from '../support/database-answers.js';
import { DatabaseAddress } from '../support/database-address.js';
import { EmbeddedFolder } from '../support/embedded.js';
import { aFolder } from '../support/folder.js';
import { call } from '../support/http.js';
import { expectRefused, versionsIn } from '../support/matchers.js';
import { inSoak } from '../support/soak.js';
import { StatementTap } from '../support/statement-tap.js';
import { within } from '../support/within.js';

const READS_ON_BOTH = inSoak(10_000, 120);

const address = new DatabaseAddress();
let folder: EmbeddedFolder;
let primary: EmbeddedPostgres;
let standby: EmbeddedPostgres;
beforeAll(async () => {
  folder = await EmbeddedFolder.create();
  primary = await startEmbeddedPostgres(join(folder.path, 'primary'));
  await address.listen();
  address.leadTo(primary.connection);
  const { user, database } = primary.connection;
  service.configuration({ database: { host: '127.0.0.1', port: address.port, user, database } });
});
afterAll(async () => {
  address.close();
  await Promise.all([primary.stop(), standby.stop()]);
  await folder.remove();
});

const service = aServiceOfAllRoutes(aFolder()).runs();
const sigrid = () => service.as(SUPER_ADMIN);
const readiness = async () => (await call(`${service.internalOrigin}/readiness`)).status;

const requests = Object.entries(REQUESTS);
const answers = () => answersTo(sigrid());

/** Copies the stopped primary and starts the copy as a standby, which never receives a later change. */
async function copyPrimary(): Promise<void> {
  const { host } = primary.connection;
  const data = join(folder.path, 'primary');
  const copy = join(folder.path, 'standby');
  await primary.stop();
  await cp(data, copy, { recursive: true, preserveTimestamps: true });
  await writeFile(join(copy, 'standby.signal'), '');
  // The copy belongs to the test's user; PostgreSQL refuses a data directory of another owner.
  const { uid, gid } = await stat(data);
  for (const name of ['', ...(await readdir(copy, { recursive: true }))])
    await chown(join(copy, name), uid, gid);
  standby = await startEmbeddedPostgres(copy);
  primary = await startEmbeddedPostgres(data, { socketDirectory: host });
}

describe('a database address that leads to a standby that lags', () => {
  let right: Record<string, string> = {};
  beforeAll(async () => {
    await publishAll(sigrid());
    await copyPrimary();
    await within(30_000, async () => expect(await readiness()).toBe(200));
    const path = `/v1/entries/server/${encodeURIComponent(GONE)}/versions/1.0.0`;
    expect((await sigrid().delete(path)).status).toBe(204);
    const list = await sigrid().get(SERVERS);
    expect(versionsIn(list)).toEqual([`${KEPT}@1.0.0`, 'io.acme/tool@1.0.0']);
    right = await answers();
    expect(right['validator']).toMatch(/^304/);
  });

  describe('after a switch', () => {
    beforeAll(() => address.leadTo(standby.connection));

    it.each(requests)('returns 503 instead of a stale %s', async (_, send) =>
      expectRefused(await send(sigrid()), 503, 'database_unavailable'),
    );

    it('is not ready, but healthy', async () => {
      expect(await readiness()).toBe(503);
      expect((await call(`${service.internalOrigin}/health`)).status).toBe(200);
    });

    it('responds as before once the address leads to the primary again, without a restart', async () => {
      address.leadTo(primary.connection);
      await within(30_000, async () => expect(await readiness()).toBe(200));
      expect(await answers()).toEqual(right);
    });
  });

  it('responds correctly or with 503 when connections are spread over both servers', async () => {
    address.leadTo(primary.connection, standby.connection);
    const statuses = new Set<number>();
    const clients = Array.from({ length: 8 }, async (_, client) => {
      for (let read = client; read < READS_ON_BOTH; read += 8) {
        const [name = '', send] = requests[read % requests.length] ?? [];
        if (!send) continue;
        const reply = await send(sigrid());
        statuses.add(reply.status);
        if (reply.status !== 503) expect(answerOf(reply), name).toBe(right[name]);
      }
    });
    await Promise.all(clients);
    expect(statuses).toContain(200);
    expect(statuses).toContain(503);
    address.leadTo(primary.connection);
    await within(30_000, async () => expect(await readiness()).toBe(200));
    expect(await answers()).toEqual(right);
  });
});

it('each route that reads is covered here', async () => expect(await uncoveredRoutes()).toEqual([]));

describe('the statements behind a response', () => {
  it('include one that fails on a standby, even if the connection was opened on the primary, except for administrators', async () => {
    const { host, port, user, database } = primary.connection;
    const tap = new StatementTap({ host, port } as ConstructorParameters<typeof StatementTap>[0]);
    const tapped = { host: '127.0.0.1', port: await tap.listen(), user, database };
    await service.restart((edited) => edited.configuration({ database: tapped }));
    const unproven = new Set<string>();
    for (const [name, send] of requests) {
      // Opens the connections of the request.
      await send(sigrid());
      tap.statements.length = 0;
      await send(sigrid());
      if (!tap.statements.some((statement) => FAILS_ON_STANDBY.test(statement))) unproven.add(name);
    }
    expect([...unproven].filter((name) => !FOR_ADMINISTRATORS.includes(name))).toEqual([]);
    expect(unproven.size).toBeLessThan(requests.length / 2);
    await service.stop();
    tap.close();
  });
});

/** Responses that are protected only by the check of new connections. */
const FOR_ADMINISTRATORS = [
  'sources',
  'kinds of sources',
  'source',
  'entries of a source',
  'who sees a source',
  'registries of the admin API',
  'registry',
  'entries of a registry',
  'who reads a registry',
  'managed entry',
  'managed version',
  'claims',
  'who reads an entry',
  'held versions',
  'held version',
  'blocks',
  'block',
  'webhooks',
  'deliveries',
  'audit',
  'preview of a block',
  'dry run',
  'publication',
];
const FAILS_ON_STANDBY = /^(?!select set_config)[^]*pg_is_in_recovery\(\)/;
