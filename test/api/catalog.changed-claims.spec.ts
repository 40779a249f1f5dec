import { beforeAll, describe, expect, it } from 'vitest';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer, aSkill, type Document } from '../support/documents.js';
import type { Sender } from '../support/http.js';
import { cursorIn, versionsIn } from '../support/matchers.js';
import { aName, consumerAt, entryAt, listAt, publish } from '../support/publishing.js';
import { keepSecret } from '../support/secrets.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

const RED = { team: 'red' };
const BLUE = { team: 'blue' };

const service = aService({ mode: 'full' })
  .source('published', { kind: 'managed' })
  .source('files', {
    servers: [aServer('io.acme/filed'), aServer('io.acme/filed-too', 'v2.0.0')],
    claims: RED,
  })
  .registry('main', { sources: ['published', 'files'] })
  .runs();
const admin = () => service.as(SUPER_ADMIN);
const red = () => service.as(RED);
const blue = () => service.as(BLUE);

/** A time at which nothing happens. */
async function aMoment(): Promise<string> {
  await new Promise((resolve) => setTimeout(resolve, 5));
  const moment = new Date().toISOString();
  await new Promise((resolve) => setTimeout(resolve, 5));
  return moment;
}
const changedSince = async (sender: Sender, moment: string, more = '') =>
  versionsIn(await sender.get(`${listAt('server')}?limit=100&updated_since=${moment}${more}`));
async function relabel(name: string, claims: Document): Promise<void> {
  expect((await admin().put(entryAt('server', name, '/claims'), { claims })).status).toBe(204);
}

describe('updated_since', () => {
  it('finds entries that a change to claims made visible to the caller', async () => {
    const [name, other] = [aName(), aName()];
    await publish(admin(), 'server', name, RED, '1.0.0', '2.0.0');
    await publish(admin(), 'server', other, RED);
    const before = await aMoment();
    expect(await changedSince(blue(), before)).toEqual([]);
    await relabel(name, BLUE);
    await relabel(other, { team: 'green' });
    const after = await aMoment();
    expect(await changedSince(blue(), before)).toEqual([`${name}@2.0.0`, `${name}@1.0.0`]);
    expect(await changedSince(red(), before)).toEqual([]);
    expect(await changedSince(blue(), after)).toEqual([]);
    expect(await changedSince(admin(), before)).toHaveLength(3);
  });

  it('finds all their versions, even deleted ones, with unchanged dates', async () => {
    const name = aName();
    await publish(admin(), 'server', name, RED, '1.0.0', '2.0.0');
    await admin().patch(entryAt('server', name, '/versions/1.0.0/status'), { status: 'deleted' });
    const path = consumerAt('server', name, '/versions/2.0.0');
    const original = (await red().get(path)).json as { _meta: object };
    const before = await aMoment();
    await relabel(name, BLUE);
    expect(await changedSince(blue(), before)).toEqual([`${name}@2.0.0`, `${name}@1.0.0`]);
    expect((await blue().get(path)).json).toEqual(original);
  });

  it.each([
    ['&version=latest', ['2.0.0']],
    ['&version=1.0.0', ['1.0.0']],
    ['&version=9.9.9', []],
    ['&search=SINCE', ['2.0.0', '1.0.0']],
    ['&search=since&version=latest', ['2.0.0']],
    ['&search=nothing-of-that', []],
    ['&include_deleted=false', ['2.0.0', '1.0.0']],
  ])('combines with other filters: %s', async (more, versions) => {
    const name = `${aName()}-since`;
    await publish(admin(), 'server', name, RED, '1.0.0', '2.0.0');
    const before = await aMoment();
    await relabel(name, BLUE);
    expect(await changedSince(blue(), before, more)).toEqual(versions.map((each) => `${name}@${each}`));
  });

  it('finds nothing when the claims were set to equal ones', async () => {
    const name = aName();
    await publish(admin(), 'server', name, { team: ['blue', 'red'] });
    const before = await aMoment();
    await relabel(name, { team: ['red', 'blue'] });
    await relabel(name, { team: ['blue', 'red'] });
    const both = service.as({ team: ['red', 'blue'] });
    expect(await changedSince(both, before)).toEqual([]);
    await relabel(name, BLUE);
    expect(await changedSince(both, before)).toEqual([`${name}@1.0.0`]);
  });

  it('pages through them', async () => {
    const names = [aName(), aName(), aName()].sort();
    for (const name of names) await publish(admin(), 'server', name, RED, '1.0.0', '2.0.0');
    const before = await aMoment();
    for (const name of names) await relabel(name, BLUE);
    const found: string[] = [];
    for (let query = `limit=1&updated_since=${before}`; ;) {
      const page = await blue().get(`${listAt('server')}?${query}`);
      found.push(...versionsIn(page));
      const cursor = cursorIn(page);
      if (cursor === undefined) break;
      query = `cursor=${cursor}`;
    }
    expect(found).toEqual(names.flatMap((name) => [`${name}@2.0.0`, `${name}@1.0.0`]));
  });

  it('returns a new ETag once claims have changed', async () => {
    const name = aName();
    await publish(admin(), 'server', name, RED);
    const path = `${listAt('server')}?updated_since=${await aMoment()}`;
    const empty = await blue().get(path);
    const known = { headers: { 'If-None-Match': String(empty.headers['etag']) } };
    expect((await blue().send('GET', path, known)).status).toBe(304);
    await relabel(name, BLUE);
    expect(versionsIn(await blue().send('GET', path, known))).toEqual([`${name}@1.0.0`]);
  });

  it('finds the entries of a source whose claims changed', async () => {
    const before = await aMoment();
    expect(await changedSince(blue(), before)).toEqual([]);
    await service.restart((edited) => edited.source('files', { missing: true, claims: BLUE }));
    expect(await changedSince(blue(), before)).toEqual(['io.acme/filed@1.0.0', 'io.acme/filed-too@v2.0.0']);
    expect(await changedSince(red(), before)).toEqual([]);
    const after = await aMoment();
    await service.restart();
    expect(await changedSince(blue(), after)).toEqual([]);
  });
});

describe('an api source that mirrors a registry with claims', () => {
  const partner = aService({ mode: 'full' })
    .source('published', { kind: 'managed' })
    .registry('main', { sources: ['published'] })
    .runs();
  const opened = aName();
  const narrowed = aName();
  const mirror = aService();
  beforeAll(async () => {
    for (const [name, claims] of [
      [opened, RED],
      [narrowed, BLUE],
    ] as const)
      await publish(partner.as(SUPER_ADMIN), 'server', name, claims);
    // Published long ago, so that only the change to the claims is recent.
    await partner.database.query(
      `update entry_version set updated_at = '2026-01-01', published_at = '2026-01-01'`,
    );
    const tokenFile = partner.write('token', keepSecret(partner.issuer.sign(BLUE)));
    const settings = { endpoint: `${partner.origin}/registry/main`, tokenFile };
    mirror.source('main', { kind: 'api', settings });
  });
  mirror.registry('main', { sources: ['main'] }).runs();
  const listed = async () => versionsIn(await mirror.get(listAt('server')));
  const pagesAsked = () => {
    const paths = partner
      .logs()
      .map(({ path }) => path)
      .filter((path) => typeof path === 'string' && path.endsWith('/v0.1/servers'));
    partner.log.length = 0;
    return paths.length;
  };
  const ago = (ms: number) =>
    mirror.database.query(
      `update source_sync set fetch_state = jsonb_set(fetch_state, '{state,roundAt}',
         to_jsonb((fetch_state->'state'->>'roundAt')::float8 - $1::float8))`,
      [ms],
    );

  it('adds newly visible entries at the next sync, and removes hidden ones within six hours', async () => {
    await mirror.synced('main');
    expect(await listed()).toEqual([`${narrowed}@1.0.0`]);
    for (const [name, claims] of [
      [opened, BLUE],
      [narrowed, RED],
    ] as const)
      await partner.as(SUPER_ADMIN).put(entryAt('server', name, '/claims'), { claims });
    pagesAsked();
    expect((await mirror.synced('main')).counts).toMatchObject({ added: 1, changed: 0, removed: 0 });
    // One request for the changes and one to probe updated_since, because the new entries have old dates.
    expect(pagesAsked()).toBe(2);
    expect(await listed()).toEqual([opened, narrowed].sort().map((name) => `${name}@1.0.0`));
    await ago(5 * 60 * 60_000);
    expect((await mirror.synced('main')).counts).toMatchObject({ removed: 1, entries: 1 });
    expect(await listed()).toEqual([`${opened}@1.0.0`]);
  });
});

describe('a source whose filter and claims change together', () => {
  const changed = (description: string) => aServer('io.acme/changed', '1.0.0', { description });
  const moving = aService({ mode: 'full' })
    .source('moving', {
      claims: RED,
      admission: { changed: 'hold' },
      servers: [aServer('io.acme/same'), changed('For red')],
      skills: [aSkill('io.acme/early'), aSkill('io.acme/late')],
    })
    .registry('main', { sources: ['moving'], marketplace: { name: 'acme', owner: 'Acme' } })
    .runs();
  const servers = async (sender: Sender) =>
    ((await sender.get(listAt('server'))).json as { servers: { server: Document }[] }).servers.map(
      ({ server }) => server['description'],
    );
  const disabled = async (sender: Sender) => {
    const path = '/registry/main/x/client-config?client=claude-code&form=managed';
    return Object.keys(((await sender.get(path)).json as { enabledPlugins: object }).enabledPlugins);
  };
  const rewrite = async (...skills: Document[]) => {
    await moving.rewrite('moving', { servers: [aServer('io.acme/same'), changed('For red')], skills });
    await moving.synced('moving');
  };

  it('shows neither earlier documents nor the names of removed plugins to readers of the new claims', async () => {
    await rewrite(aSkill('io.acme/late'));
    expect(await disabled(moving.as(RED))).toEqual(['io-acme-early@acme']);
    await moving.reload((edited) =>
      edited.source('moving', {
        claims: BLUE,
        admission: { changed: 'hold' },
        filter: { names: { include: ['io.acme/*'] } },
        servers: [aServer('io.acme/same'), changed('For blue')],
        skills: [aSkill('io.acme/last')],
      }),
    );
    await moving.synced('moving');
    expect(await servers(moving.as(RED))).toEqual([]);
    expect(await servers(moving.as(BLUE))).toEqual(['For blue', 'The server io.acme/same']);
    expect(await disabled(moving.as(BLUE))).toEqual([]);
    expect(await disabled(moving.as(RED))).toEqual([]);
    expect(await disabled(moving.as(SUPER_ADMIN))).toEqual(['io-acme-early@acme', 'io-acme-late@acme']);
  });

  it('then holds changed documents and shows removed names as before', async () => {
    await rewrite();
    expect(await servers(moving.as(BLUE))).toEqual(['For blue', 'The server io.acme/same']);
    expect(await disabled(moving.as(BLUE))).toEqual(['io-acme-last@acme']);
  });
});

describe('a blocked document whose successor is held', () => {
  const serversOf = (source: string, description: string) => [
    aServer(`io.acme/${source}-same`, '1.0.0', { description: 'same' }),
    aServer(`io.acme/${source}-changed`, '1.0.0', { description }),
  ];
  const sources = ['staying', 'moving'];
  const blocking = aService({ mode: 'full' })
    .source('staying', { claims: RED, servers: serversOf('staying', 'first') })
    .source('moving', { claims: RED, servers: serversOf('moving', 'first') })
    .registry('main', { sources })
    .runs();
  const seen = async (claims: Document) => {
    const { json } = await blocking.as(claims).get(listAt('server'));
    return (json as { servers: { server: Document }[] }).servers.map(
      ({ server }) => `${String(server['name'])} ${String(server['description'])}`,
    );
  };

  it('returns only if the claims of its source did not change', async () => {
    const block = '/v1/blocks/all';
    const reason = { names: ['io.acme/*'], reason: 'SEC-12' };
    expect((await blocking.as(SUPER_ADMIN).put(block, reason)).status).toBe(201);
    await within(20_000, async () => expect(await seen(RED)).toEqual([]));
    const admission = { rules: [{ names: ['*-changed'], action: 'hold' }] };
    await blocking.reload((edited) =>
      edited
        .source('staying', { claims: RED, admission, servers: serversOf('staying', 'second') })
        .source('moving', { claims: BLUE, admission, servers: serversOf('moving', 'second') }),
    );
    for (const source of sources) await blocking.synced(source);
    expect((await blocking.as(SUPER_ADMIN).delete(block)).status).toBe(204);
    await within(20_000, async () => expect(await seen(BLUE)).toContain('io.acme/moving-same same'));
    expect(await seen(BLUE)).toEqual(['io.acme/moving-same same']);
    await within(20_000, async () =>
      expect(await seen(RED)).toEqual(['io.acme/staying-changed first', 'io.acme/staying-same same']),
    );
  });
});
