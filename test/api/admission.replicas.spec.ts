import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decide, type Item, itemsFor, passTime, served } from '../support/admission.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer, type Document } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { expectRefused } from '../support/matchers.js';
import { aService } from '../support/service.js';

const ACME = { org: 'acme' };
const WRITER = { sub: 'wim', org: 'acme', role: 'writer' };
const NAME = 'com.acme/payments-api';
const PATIENCE = { interval: 20 };

describe('admission on two replicas', () => {
  const folder = aFolder();
  const service = aService({ mode: 'full' }).configuration({ adminFileRoot: folder.path }).runs();
  let other = service;
  const on = (index: 0 | 1, claims: Document) => (index === 0 ? service : other).as(claims);
  const reviewer = (sub: string) => ({ sub, org: 'acme', team: 'payments' });
  const hold = async (version: string): Promise<Item> => {
    const reply = await on(0, WRITER).post('/v1/entries', { server: aServer(NAME, version), claims: ACME });
    expect(reply.status, reply.text).toBe(202);
    const [item] = (await itemsFor(on(1, WRITER), '?mine=true')).filter((one) => one.version === version);
    if (!item) throw new Error(`${version} is not held`);
    return item;
  };

  beforeAll(async () => {
    other = service.replica();
    await other.start();
    const admin = on(0, SUPER_ADMIN);
    const source = await admin.put('/v1/sources/internal', {
      managed: {
        review: [{ names: ['com.acme/payments-*'], reviewers: { team: 'payments' }, approvals: 2 }],
      },
      claims: {},
    });
    expect(source.status, source.text).toBe(201);
    expect((await admin.put('/v1/registries/main', { sources: ['internal'], claims: {} })).status).toBe(201);
  });
  afterAll(() => other.stop());

  it('counts two approvals by one person once, and those of two people separately', async () => {
    const item = await hold('1.0.0');
    const twice = await Promise.all(
      ([0, 1] as const).map((index) => decide(on(index, reviewer('rita')), item, 'approve')),
    );
    expect(twice.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(await itemsFor(on(1, WRITER))).toMatchObject([{ approvals: { required: 2, given: 1 } }]);

    const next = await hold('1.1.0');
    const both = await Promise.all([
      decide(on(0, reviewer('rita')), next, 'approve'),
      decide(on(1, reviewer('rosa')), next, 'approve'),
    ]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    expect((await on(0, WRITER).get(`/v1/admission/${next.id}`)).json).toMatchObject({ status: 'admitted' });
    await expect.poll(() => served(on(1, SUPER_ADMIN)), PATIENCE).toEqual([`${NAME}@1.1.0`]);
  });

  it('lets one of two decisions end an item', async () => {
    const item = await hold('2.0.0');
    expect((await decide(on(0, reviewer('rita')), item, 'approve')).status).toBe(200);
    const replies = await Promise.all([
      decide(on(0, reviewer('rosa')), item, 'approve'),
      decide(on(1, reviewer('rolf')), item, 'reject'),
      decide(on(1, WRITER), item, 'withdraw'),
    ]);
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    for (const reply of replies.filter(({ status }) => status === 409))
      expectRefused(reply, 409, 'already_decided');
  });

  it('serves a version from both once it reaches minAge', async () => {
    const admin = on(0, SUPER_ADMIN);
    const path = folder.catalogue('due', [aServer('com.due/one')]);
    const source = {
      file: { path },
      syncPolicy: { interval: '24h' },
      admission: { minAge: '14d' },
      claims: {},
    };
    expect((await admin.put('/v1/sources/due', source)).status).toBe(201);
    expect((await admin.put('/v1/registries/due', { sources: ['due'], claims: {} })).status).toBe(201);
    await expect.poll(() => itemsFor(admin, '?source=due'), PATIENCE).toHaveLength(1);
    const shown = async () => [
      await served(on(0, SUPER_ADMIN), 'due'),
      await served(on(1, SUPER_ADMIN), 'due'),
    ];
    expect(await shown()).toEqual([[], []]);
    await passTime(service, '15 days');
    // Within 10 s, on a machine that is not loaded.
    await expect.poll(shown, { interval: 100 }).toEqual([['com.due/one@1.0.0'], ['com.due/one@1.0.0']]);
  });

  it('applies a block on the other replica', async () => {
    const name = 'com.acme/free';
    const publish = (version: string) =>
      on(1, WRITER).post('/v1/entries', { server: aServer(name, version), claims: ACME });
    expect((await publish('1.0.0')).status).toBe(201);
    const shown = async () => (await served(on(1, SUPER_ADMIN))).filter((one) => one.startsWith(name));
    await expect.poll(shown, PATIENCE).toEqual([`${name}@1.0.0`]);
    const block = { names: [name], reason: 'SEC-1' };
    expect((await on(0, SUPER_ADMIN).put('/v1/blocks/sec-1', block)).status).toBe(201);
    // No response is older than its request, so the very first read shows the block, not one a second later.
    expect(await shown()).toEqual([]);
    const path = `/registry/main/v0.1/servers/${encodeURIComponent(name)}/versions/1.0.0`;
    expectRefused(await on(1, SUPER_ADMIN).get(path), 404, 'entry_not_found');
    expectRefused(await publish('1.1.0'), 403, 'blocked');
    expect((await on(1, SUPER_ADMIN).delete('/v1/blocks/sec-1')).status).toBe(204);
    expect((await publish('1.1.0')).status).toBe(201);
  });
});
