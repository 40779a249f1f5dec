import { chown, cp, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../dist/database/embedded/embedded-postgres.js';
import { SUPER_ADMIN } from '../support/callers.js';
import {
  answersTo,
  aServiceOfAllRoutes,
  KEPT,
  publishAll,
  REQUESTS,
  SERVERS,
} from '../support/database-answers.js';
import { DatabaseAddress } from '../support/database-address.js';
import { EmbeddedFolder } from '../support/embedded.js';
import { aFolder } from '../support/folder.js';
import { call, type Reply, type Sender } from '../support/http.js';
import { expectRefused } from '../support/matchers.js';
import { aPublication } from '../support/publishing.js';
import { within } from '../support/within.js';

/** Exceeds the time in which PostgreSQL must respond. */
const LONG_MS = 5_500;

const address = new DatabaseAddress();
let folder: EmbeddedFolder;
let postgres: EmbeddedPostgres;
const data = () => join(folder.path, 'postgres');
async function startPostgres(): Promise<void> {
  postgres = await startEmbeddedPostgres(data());
  address.leadTo(postgres.connection);
}
beforeAll(async () => {
  folder = await EmbeddedFolder.create();
  await address.listen();
  await startPostgres();
  const { user, database } = postgres.connection;
  service.configuration({ database: { host: '127.0.0.1', port: address.port, user, database } });
});
afterAll(async () => {
  address.close();
  await postgres.stop();
  await folder.remove();
});

const service = aServiceOfAllRoutes(aFolder()).runs();
const sigrid = () => service.as(SUPER_ADMIN);
const internal = async (path: string) => (await call(`${service.internalOrigin}${path}`)).status;

const CHANGES: Record<string, (sender: Sender) => Promise<Reply>> = {
  publish: (sender) => sender.post('/v1/entries', aPublication('server', 'io.acme/new', {})),
  'change claims': (sender) =>
    sender.put(`/v1/entries/server/${encodeURIComponent(KEPT)}/claims`, { claims: {} }),
  'create a registry': (sender) => sender.put('/v1/registries/other', { sources: ['tools'] }),
  synchronize: (sender) => sender.post('/v1/sources/tools/sync', {}),
};

let right: Record<string, string> = {};
beforeAll(() => publishAll(sigrid()));
beforeEach(async () => {
  right = await answersTo(sigrid());
});

/** Sends all requests concurrently. */
async function expectAllRefused(): Promise<void> {
  const replies = Object.values({ ...REQUESTS, ...CHANGES }).map((send) => send(sigrid()));
  expect(await internal('/health')).toBe(200);
  expect(await internal('/readiness')).toBe(503);
  for (const reply of await Promise.all(replies)) expectRefused(reply, 503, 'database_unavailable');
}

async function expectRecovery(): Promise<void> {
  await within(30_000, async () => {
    expect(await internal('/readiness')).toBe(200);
    expect(await answersTo(sigrid())).toEqual(right);
  });
}

describe('a PostgreSQL server that stops', () => {
  it('is reported by every route until it runs again', async () => {
    await postgres.stop();
    await expectAllRefused();
    expect((await sigrid().get(SERVERS)).headers['retry-after']).toBe('2');
    await startPostgres();
    await expectRecovery();
  });

  it('and is restored to an earlier state invalidates everything cached after that state', async () => {
    const publish = async (name: string) =>
      expect((await sigrid().post('/v1/entries', aPublication('server', name, {}))).status).toBe(201);
    const listed = async () => (await sigrid().get(`${SERVERS}?limit=100`)).text;
    await postgres.stop();
    const { uid, gid } = await stat(data());
    await cp(data(), `${data()}.copy`, { recursive: true, preserveTimestamps: true });
    await startPostgres();
    await expectRecovery();
    await publish('io.acme/lost');
    expect(await listed()).toContain('io.acme/lost');
    await postgres.stop();
    await rm(data(), { recursive: true });
    await rename(`${data()}.copy`, data());
    // PostgreSQL refuses a data directory of another owner.
    for (const name of ['', ...(await readdir(data(), { recursive: true }))])
      await chown(join(data(), name), uid, gid);
    await startPostgres();
    await expectRecovery();
    await publish('io.acme/found');
    expect(await listed()).toContain('io.acme/found');
    expect(await listed()).not.toContain('io.acme/lost');
  });
});

describe('a PostgreSQL server that does not respond', () => {
  it('is reported by every route while idle connections are silent, until new ones respond', async () => {
    address.freeze();
    await expectAllRefused();
    // The server has noticed by now.
    await expectAllRefused();
    address.thaw();
    await expectRecovery();
  });
});

describe('a statement that takes long', () => {
  // Other lists are cached.
  let limit = 100;

  /** Lists entries, whose table is locked during `meanwhile`. */
  async function listing(meanwhile: (list: Promise<Reply>) => Promise<unknown>): Promise<Reply> {
    const holder = new pg.Client(postgres.connection);
    holder.on('error', () => undefined);
    await holder.connect();
    await holder.query('begin');
    await holder.query('lock table entry in access exclusive mode');
    const list = sigrid().get(`${SERVERS}?limit=${(limit -= 1)}`);
    await within(30_000, async () => {
      // Unlike pg_stat_activity, this view is current even within a transaction.
      const { rows } = await holder.query(
        `select from pg_locks where not granted and relation = 'entry'::regclass`,
      );
      expect(rows).not.toHaveLength(0);
    });
    await meanwhile(list);
    await holder.end();
    return list;
  }

  it('completes while PostgreSQL responds', async () => {
    const reply = await listing(() => pause(LONG_MS));
    expect(reply.status).toBe(200);
  });

  it('fails with 503 once PostgreSQL does not respond', async () => {
    const reply = await listing((list) => {
      address.freeze();
      return list;
    });
    expectRefused(reply, 503, 'database_unavailable');
    address.thaw();
    await expectRecovery();
  });
});
