import { connect, type Socket } from 'node:net';
import { afterAll, describe, expect, it } from 'vitest';
import pg from 'pg';
import { ACME_ADMIN, ACME_WRITER, SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { type Reply, reusesNoConnections } from '../support/http.js';
import { waitForLocks } from '../support/patient-reads.js';
import { aService } from '../support/service.js';
import { waitingStatements } from '../support/waiting-statements.js';

reusesNoConnections();
waitForLocks();

const CLAIMS = { org: 'acme', team: 'platform' };

describe('a caller with many expensive requests', () => {
  const servers = Array.from({ length: 200 }, (_, number) => aServer(`io.acme/s${number}`));
  const large = Array.from({ length: 10 }, (_, number) =>
    aServer(`io.acme/l${number}`, '1.0.0', { _meta: { 'com.example/padding': 'x'.repeat(1_000_000) } }),
  );
  const service = aService({ mode: 'full' })
    .source('published', { kind: 'managed' })
    .source('main', { servers, claims: { org: 'acme' } })
    .source('large', { servers: large, claims: { org: 'acme' } })
    .registry('large', { sources: ['large'], claims: { org: 'acme' } })
    .registry('main', { sources: ['main'], claims: { org: 'acme' } })
    .configuration({ limits: { claimSetsPerSource: 3 } })
    .runs();
  const sockets: Socket[] = [];
  afterAll(() => sockets.forEach((socket) => socket.destroy()));

  /** Sends requests while a table is locked; all must get 200 once it is unlocked. */
  async function withLocked(
    table: string,
    ask: (waiting: () => Promise<number>) => Promise<readonly Promise<Reply>[]>,
  ): Promise<void> {
    const client = new pg.Client(service.database.connection);
    await client.connect();
    let asked: readonly Promise<Reply>[] = [];
    try {
      await client.query(`begin; lock table ${table} in access exclusive mode`);
      asked = await ask(() => waitingStatements(service.database));
    } finally {
      await client.end();
    }
    for (const reply of await Promise.all(asked)) expect(reply.status).toBe(200);
  }

  it('does not block changes by leaving responses unread', async () => {
    const token = service.issuer.sign(ACME_WRITER);
    const more = { 'io.modelcontextprotocol.registry/other': 'x'.repeat(900_000) };
    const body = JSON.stringify({
      server: aServer('io.acme/large', '1.0.0', { _meta: more }),
      claims: CLAIMS,
    });
    const request =
      `POST /v1/entries/validate HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    for (let count = 0; count < 48; count += 1) {
      const socket = connect(service.port, '127.0.0.1');
      sockets.push(socket);
      socket.on('error', () => undefined).pause();
      socket.write(request);
    }
    const put = (name: string) =>
      service.as(ACME_ADMIN).put(`/v1/registries/${name}`, { sources: ['main'], claims: { org: 'acme' } });
    for (let round = 0; round < 10; round += 1) expect((await put(`r${round}`)).status).toBe(201);
    // Otherwise the requests that still wait would take part in the next tests.
    sockets.forEach((socket) => socket.destroy());
  });

  it('does not delay other callers, even on a page that both request', async () => {
    const page = (search: string) => `/registry/main/v0.1/servers?limit=${search}`;
    const greedy = service.as({ sub: 'greedy', org: 'acme' });
    let isGreedyDone = false;
    const all = Promise.all(
      servers.map((_, number) =>
        greedy.get(`/registry/main/v0.1/servers/io.acme%2Fs${number}/versions/latest`),
      ),
    ).then(() => greedy.get(page('77')));
    const both = greedy.get(page('77')).then(() => (isGreedyDone = true));
    const modest = await service.as({ sub: 'modest', org: 'acme' }).get(page('77'));
    expect(modest.status).toBe(200);
    expect((await all).status).toBe(200);
    await both;
    expect(isGreedyDone).toBe(true);
  });

  it('reads at most four pages at a time with ten connections', async () => {
    const many = service.as({ sub: 'many', org: 'acme' });
    await withLocked('entry_version', async (waiting) => {
      const asked = servers
        .slice(0, 10)
        .map(({ name }) =>
          many.get(
            `/registry/main/v0.1/servers/${encodeURIComponent(String(name))}/versions/latest?include_deleted=true`,
          ),
        );
      await expect.poll(waiting, { interval: 20 }).toBe(4);
      // This response arrives after those requests.
      await many.get('/v1/me');
      expect(await waiting()).toBe(4);
      return asked;
    });
  });

  it('reads one page at a time after a large one, and others read alongside', async () => {
    const greedy = service.as({ sub: 'greedy', org: 'acme' });
    const page = await greedy.get('/registry/large/v0.1/servers/io.acme%2Fl0/versions/latest');
    expect(page.text.length).toBeGreaterThan(1_000_000);
    await withLocked('entry_version', async (waiting) => {
      const asked = [81, 82, 83, 84, 85].map((limit) =>
        greedy.get(`/registry/main/v0.1/servers?limit=${limit}`),
      );
      await expect.poll(waiting, { interval: 20 }).toBe(1);
      const modest = service.as({ sub: 'modest', org: 'acme' });
      const others = [91, 92].map((limit) => modest.get(`/registry/main/v0.1/servers?limit=${limit}`));
      await expect.poll(waiting, { interval: 20 }).toBe(3);
      return [...asked, ...others];
    });
  });

  it.each([
    ['/v1/registries/main/entries', '?limit=10'],
    ['/v1/registries/main/entries?cursor=', '?limit=10'],
    ['/v1/sources/main/entries?cursor=', '?limit=10'],
    ['/v1/registries/main/access?limit=1', undefined],
    ['/v1/registries/main/access?cursor=x', undefined],
  ])('computes one long list at a time, with short pages alongside: %s', async (path, page) => {
    const admin = service.as(ACME_ADMIN);
    await withLocked('entry', async (waiting) => {
      const asked = [1, 2, 3, 4].map(() => admin.get(path));
      await expect.poll(waiting, { interval: 20 }).toBe(1);
      const paged = page === undefined ? [] : [1, 2].map(() => admin.get(path.split('?')[0] + page));
      await expect.poll(waiting, { interval: 20 }).toBe(1 + paged.length);
      return [...asked, ...paged];
    });
  });

  it('uses one claim set for equal claims in any order', async () => {
    const by = service.as({ ...ACME_WRITER, team: ['platform', 'data', 'web'] });
    const forms = [
      ['web', 'data'],
      ['data', 'web'],
      ['web', 'data', 'web'],
      ['data', 'data', 'web'],
    ];
    for (const [number, team] of forms.entries()) {
      const reply = await by.post('/v1/entries', {
        server: aServer(`io.acme/f${number}`),
        claims: { org: 'acme', team },
      });
      expect({ status: reply.status, body: reply.json as unknown }).toMatchObject({
        status: 201,
        body: { claims: { org: 'acme', team: [...new Set(team)] } },
      });
    }
    const [row] = await service.database.query<{ sets: number }>(
      `select count(distinct e.claim_set_id)::int as sets from entry e join source s on s.id = e.source_id where s.kind = 'managed'`,
    );
    expect(row?.sets).toBe(1);
    expect((await service.as(SUPER_ADMIN).get('/v1/entries')).status).toBe(200);
  });
});
