import { describe, expect, it } from 'vitest';
import { ACME_ADMIN, ACME_WRITER, CONTOSO_ADMIN, SUPER_ADMIN } from '../support/callers.js';
import { Clock } from '../support/clock.js';
import { aServer } from '../support/documents.js';
import type { Reply, Sender } from '../support/http.js';
import { expectRefused } from '../support/matchers.js';
import { aName, aPublication, entryAt } from '../support/publishing.js';
import { aService } from '../support/service.js';

const LIMIT = 2;
const CLAIMS = { org: 'acme', team: 'platform' };

// A minute may end during a test.
new Clock().runs().standsStill();
const service = aService({ mode: 'full' })
  .source('published', { kind: 'managed' })
  .source('catalog', { servers: [aServer('io.acme/a')], claims: { org: 'acme' } })
  .registry('main', { sources: ['published'], publishClaims: CLAIMS })
  .configuration({ limits: { changesPerMinute: LIMIT } })
  .runs();

let callers = 0;
/** A caller who has changed nothing yet. */
function fresh(claims: Record<string, unknown>): Sender {
  callers += 1;
  return service.as({ ...claims, sub: `caller-${callers}` });
}
const publish = (sender: Sender, name = aName(), version = '1.0.0') =>
  sender.post('/v1/entries', aPublication('server', name, CLAIMS, version));
async function exhausted(claims: Record<string, unknown>): Promise<{ sender: Sender; names: string[] }> {
  const sender = fresh({ ...ACME_WRITER, ...claims, role: ['writer', 'admin', 'super-admin'] });
  const names = Array.from({ length: LIMIT }, () => aName());
  for (const name of names) expect((await publish(sender, name)).status).toBe(201);
  return { sender, names };
}
function expectLimited(reply: Reply): void {
  expectRefused(reply, 429, 'too_many_requests');
  const seconds = Number(reply.headers['retry-after']);
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThanOrEqual(61);
}

describe('limits.changesPerMinute', () => {
  it("limits each caller's changes separately", async () => {
    const one = fresh(ACME_WRITER);
    for (let change = 0; change < LIMIT; change += 1) expect((await publish(one)).status).toBe(201);
    const name = aName();
    expectLimited(await publish(one, name));
    expect((await one.get(entryAt('server', name))).status).toBe(404);
    expect((await publish(fresh(ACME_WRITER), name)).status).toBe(201);
  });

  it('also limits super-admins', async () => {
    const { sender, names } = await exhausted(SUPER_ADMIN);
    expectLimited(await sender.delete(entryAt('server', names[0] ?? '', '/versions/1.0.0')));
    expect(
      (await fresh(SUPER_ADMIN).delete(entryAt('server', names[0] ?? '', '/versions/1.0.0'))).status,
    ).toBe(204);
  });

  const source = {
    file: { url: 'http://127.0.0.1:9/none.json' },
    syncPolicy: { interval: '1h' },
    claims: { org: 'acme' },
  };
  const CHANGES: readonly [what: string, change: (sender: Sender, name: string) => Promise<Reply>, status: number][] = [
    ['a publication', (sender) => publish(sender), 201],
    ['a publication by mcp-publisher', (sender) => sender.post('/registry/main/v0/publish', aServer(aName())), 201],
    ['a status by mcp-publisher', (sender, name) => sender.patch(`/registry/main/v0/servers/${name.replace('/', '%2F')}/status`, { status: 'deprecated' }), 200],
    ['a status', (sender, name) => sender.patch(entryAt('server', name, '/status'), { status: 'deprecated' }), 200],
    ['claims', (sender, name) => sender.put(entryAt('server', name, '/claims'), { claims: { org: 'acme' } }), 204],
    ['a removal', (sender, name) => sender.delete(entryAt('server', name, '/versions/1.0.0')), 204],
    ['a manual sync', (sender) => sender.post('/v1/sources/catalog/sync'), 202],
    ['a new source', (sender, name) => sender.put(`/v1/sources/${name.replace('/', '-').replace('.', '-')}`, source), 201],
    ['a new registry', (sender, name) => sender.put(`/v1/registries/${name.replace('/', '-').replace('.', '-')}`, { sources: ['catalog'], claims: { org: 'acme' } }), 201],
  ]; // oxfmt-ignore
  it.each(CHANGES)('counts and refuses %s', async (_what, change, status) => {
    const { sender } = await exhausted({});
    const name = aName();
    await publish(fresh(ACME_WRITER), name);
    expectLimited(await change(sender, name));
    const other = fresh({ ...ACME_WRITER, role: ['writer', 'admin'] });
    expect((await change(other, name)).status).toBe(status);
    for (let left = LIMIT - 1; left > 0; left -= 1) expect((await publish(other)).status).toBe(201);
    expectLimited(await publish(other));
  });

  const UNCOUNTED: readonly [what: string, send: (sender: Sender, name: string) => Promise<Reply>, status: number][] = [
    ['a dry run', (sender) => sender.post('/v1/entries?dry_run=true', aPublication('server', aName(), CLAIMS)), 200],
    ['a validation', (sender) => sender.post('/v1/entries/validate', aPublication('server', aName(), CLAIMS)), 200],
    ['a read', (sender, name) => sender.get(entryAt('server', name)), 200],
    ['a PUT that changes nothing', (sender, name) => sender.put(entryAt('server', name, '/claims'), { claims: CLAIMS }), 204],
    ['a status that is set already', (sender, name) => sender.patch(entryAt('server', name, '/status'), { status: 'active' }), 200],
    ['claims beyond the token', (sender, name) => sender.put(entryAt('server', name, '/claims'), { claims: { org: 'x' } }), 400],
    ['a missing entry', (sender) => sender.delete(entryAt('server', aName(), '/versions/1.0.0')), 404],
    ['a missing role', (sender) => sender.post('/v1/sources/catalog/sync'), 403],
  ]; // oxfmt-ignore
  it.each(UNCOUNTED)('neither counts nor refuses %s', async (_what, send, status) => {
    const sender = fresh(ACME_WRITER);
    const name = aName();
    expect((await publish(sender, name)).status).toBe(201);
    for (let attempt = 0; attempt < LIMIT; attempt += 1)
      expect((await send(sender, name)).status).toBe(status);
    for (let left = LIMIT - 1; left > 0; left -= 1) expect((await publish(sender)).status).toBe(201);
    expect((await send(sender, name)).status).toBe(status);
    expectLimited(await publish(sender));
  });

  it('does not count a change that failed', async () => {
    const sender = fresh(ACME_WRITER);
    const name = aName();
    expect((await publish(sender, name)).status).toBe(201);
    for (let attempt = 0; attempt < LIMIT; attempt += 1)
      expectRefused(await publish(sender, name), 409, 'version_exists');
    for (let left = LIMIT - 1; left > 0; left -= 1) expect((await publish(sender)).status).toBe(201);
    expectLimited(await publish(sender));
  });

  it('holds for concurrent changes', async () => {
    const sender = fresh(ACME_WRITER);
    const replies = await Promise.all(Array.from({ length: 4 * LIMIT }, () => publish(sender)));
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(LIMIT);
    expect(replies.filter(({ status }) => status === 429)).toHaveLength(3 * LIMIT);
  });

  it('is checked after 404: hidden and missing sources look alike', async () => {
    const sender = fresh(CONTOSO_ADMIN);
    for (let change = 0; change < LIMIT; change += 1)
      expect(
        (await sender.put(`/v1/sources/contoso-${change}`, { ...source, claims: { org: 'contoso' } })).status,
      ).toBe(201);
    expectRefused(await sender.put('/v1/sources/catalog', source), 404, 'source_not_found');
    expectRefused(await sender.delete('/v1/sources/missing'), 404, 'source_not_found');
    expectLimited(await sender.delete('/v1/sources/contoso-0'));
    expect((await service.as(ACME_ADMIN).get('/v1/sources/catalog')).status).toBe(200);
  });
});

describe('limits.changesPerMinute in anonymous mode', () => {
  const open = aService({ mode: 'anonymous' })
    .source('published', { kind: 'managed' })
    .configuration({ limits: { changesPerMinute: LIMIT } })
    .runs();

  it('limits the changes from one address', async () => {
    const from = (address: string) =>
      open.send('POST', '/v1/entries', { body: aPublication('server', aName(), CLAIMS), from: address });
    for (let change = 0; change < LIMIT; change += 1) expect((await from('127.0.0.1')).status).toBe(201);
    expectLimited(await from('127.0.0.1'));
    expect((await from('127.0.0.2')).status).toBe(201);
  });
});
