import { describe, expect, it } from 'vitest';
import { ACME_PLATFORM, ACME_WRITER } from '../support/callers.js';
import type { Document } from '../support/documents.js';
import type { Reply } from '../support/http.js';
import { expectRefused } from '../support/matchers.js';
import { demandRevisions } from '../support/revisions.js';
import {
  aName,
  aPublication,
  aPublishingService,
  consumerAt,
  contentOf,
  entryAt,
  listAt,
  outcome,
  publish,
  TYPES,
} from '../support/publishing.js';
import type { ServiceUnderTest } from '../support/service.js';

const CLAIMS = { org: 'acme', team: 'platform' };
const STATUSES = {
  server: ['active', 'deprecated', 'deleted'],
  skill: ['active', 'deprecated', 'archived'],
};
const LONG_AGO = '2020-01-01T00:00:00.000Z';
const SINCE = 'updated_since=2021-01-01T00:00:00Z';

interface State {
  status: string;
  statusMessage?: string;
  statusChangedAt: string;
  publishedAt: string;
  updatedAt: string;
  isLatest: boolean;
}

function stateIn(reply: Reply): State {
  expect(reply.status).toBe(200);
  const { _meta: meta } = reply.json as { _meta: Record<string, State> };
  return meta['io.modelcontextprotocol.registry/official'] as State;
}

/** Moves all dates into the past, so that later changes stand out. */
async function moveToPast(service: ServiceUnderTest): Promise<void> {
  await service.database.query(
    `update entry_version set published_at = $1, updated_at = $1, status_changed_at = $1`,
    [LONG_AGO],
  );
}

const MESSAGES: readonly [what: string, message: string][] = [
  ['an empty message', ''],
  ['a message of 500 letters', 'x'.repeat(500)],
  ['a message of 500 characters beyond the BMP', '🚀'.repeat(500)],
  ['a message of two lines', 'line\n\tline'],
  ['a message of markup and escapes', '<b>"\\u0000'],
];

const INVALID: readonly [named: string, body: unknown][] = [
  ['status', {}],
  ['status', { statusMessage: 'Old' }],
  ['status', { status: null }],
  ['status', { status: '' }],
  ['status', { status: 'Active' }],
  ['status', { status: ['active'] }],
  ['status', { status: 1 }],
  ['status', { status: 'constructor' }],
  ['statusMessage', { status: 'deprecated', statusMessage: null }],
  ['statusMessage', { status: 'deprecated', statusMessage: 1 }],
  ['statusMessage', { status: 'deprecated', statusMessage: 'x'.repeat(501) }],
  ['statusMessage', { status: 'deprecated', statusMessage: 'a\0' }],
  ['statusMessage', { status: 'deprecated', statusMessage: 'a\r\nb' }],
  ['statusMessage', { status: 'deprecated', statusMessage: 'a\u202eb' }],
  ['statusMessage', { status: 'deprecated', statusMessage: 'a\u2069b' }],
  ['statusMessage', '{"status":"deprecated","statusMessage":"\\ud83d"}'],
  ['statusChangedAt', { status: 'deprecated', statusChangedAt: LONG_AGO }],
  ['object', []],
  ['object', undefined],
];

const full = aPublishingService('full').runs();
demandRevisions(full);

describe.each(TYPES)('a published %s', (type) => {
  const service = full;
  const writer = () => service.as(ACME_WRITER);
  const reader = () => service.as(ACME_PLATFORM);
  const patch = (name: string, version: string | null, body: unknown) =>
    writer().patch(entryAt(type, name, `${version === null ? '' : `/versions/${version}`}/status`), body);
  const state = async (name: string, version = '1.0.0') =>
    stateIn(await writer().get(entryAt(type, name, `/versions/${version}`)));
  const statuses = STATUSES[type];
  const changes = statuses.flatMap((from) => statuses.map((to) => [from, to] as const));

  // The types differ only in the last status.
  const ofType = changes.filter((change) => type === 'server' || change.includes('archived'));
  it.each(ofType)('changes status from %s to %s in every response', async (from, to) => {
    const name = aName();
    await publish(writer(), type, name, CLAIMS);
    await patch(name, '1.0.0', { status: from });
    const reply = await patch(name, '1.0.0', { status: to, statusMessage: 'See the notes' });
    expect(stateIn(reply)).toMatchObject({ status: to, statusMessage: 'See the notes', isLatest: true });
    expect(reply.json).toMatchObject({ type, name, version: '1.0.0', claims: CLAIMS });
    expect((await writer().get(entryAt(type, name, '/versions/1.0.0'))).json).toEqual(reply.json);
    expect((await writer().get(entryAt(type, name))).json).toMatchObject({
      versions: [{ status: to, statusMessage: 'See the notes', isLatest: true }],
    });
    const shown = await reader().get(consumerAt(type, name, '/versions/1.0.0?include_deleted=true'));
    if (type === 'server') expect(stateIn(shown)).toEqual(stateIn(reply));
    else expect((shown.json as { status?: string }).status ?? 'active').toBe(to);
  });

  it('keeps its document, apart from the status in the document of a skill', async () => {
    const name = aName();
    const more = { title: 'Näme', 'x-unknown': { list: [1, null, 'ä'] } };
    const publication = aPublication(type, name, CLAIMS, '1.0.0', more);
    await writer().post('/v1/entries', publication);
    const document = publication[type] as Document;
    const reply = await patch(name, '1.0.0', { status: 'deprecated', statusMessage: 'Old' });
    const changed = type === 'skill' ? { ...document, status: 'deprecated' } : document;
    expect((reply.json as Document)[type]).toEqual(changed);
    const back = await patch(name, '1.0.0', { status: 'active' });
    const restored = type === 'skill' ? { ...document, status: 'active' } : document;
    expect((back.json as Document)[type]).toEqual(restored);
  });

  it('updates statusChangedAt and updatedAt with its status', async () => {
    const name = aName();
    await publish(writer(), type, name, CLAIMS);
    await moveToPast(service);
    const began = new Date().toISOString();
    const same = stateIn(await patch(name, '1.0.0', { status: 'active' }));
    expect([same.publishedAt, same.updatedAt, same.statusChangedAt]).toEqual([LONG_AGO, LONG_AGO, LONG_AGO]);
    const worded = stateIn(await patch(name, '1.0.0', { status: 'active', statusMessage: 'Fine' }));
    expect([worded.publishedAt, worded.statusChangedAt]).toEqual([LONG_AGO, LONG_AGO]);
    expect(worded.updatedAt >= began).toBe(true);
    const changed = stateIn(await patch(name, '1.0.0', { status: 'deprecated' }));
    expect(changed.publishedAt).toBe(LONG_AGO);
    expect(changed.statusChangedAt).toBe(changed.updatedAt);
    expect(changed.statusChangedAt >= began).toBe(true);
  });

  it('loses its statusMessage with the next status without one', async () => {
    const name = aName();
    await publish(writer(), type, name, CLAIMS);
    await patch(name, '1.0.0', { status: 'deprecated', statusMessage: 'Use another' });
    expect(await state(name)).toMatchObject({ statusMessage: 'Use another' });
    await patch(name, '1.0.0', { status: 'deprecated' });
    expect(await state(name)).not.toHaveProperty('statusMessage');
  });

  it.each(type === 'server' ? MESSAGES : MESSAGES.slice(0, 1))(
    'keeps %s unchanged',
    async (_what, statusMessage) => {
      const name = aName();
      await publish(writer(), type, name, CLAIMS);
      expect(stateIn(await patch(name, '1.0.0', { status: 'deprecated', statusMessage }))).toMatchObject({
        statusMessage,
      });
    },
  );

  it.each<readonly [named: string, body: unknown]>([
    ['status', { status: type === 'server' ? 'archived' : 'deleted' }],
    ...(type === 'server' ? INVALID : []),
  ])('returns 400 and does not change for an invalid %s: %j', async (named, body) => {
    const name = aName();
    await publish(writer(), type, name, CLAIMS);
    const before = await contentOf(service);
    for (const version of ['1.0.0', null]) {
      const reply = await patch(name, version, body);
      expectRefused(reply, 400, 'invalid_body');
      expect((reply.json as { error: string }).error).toContain(named);
    }
    expect(await contentOf(service)).toEqual(before);
    expect((await patch(name, '1.0.0', { status: 'deprecated' })).status).toBe(200);
  });

  it('changes the status of one version or of all', async () => {
    const name = aName();
    await publish(writer(), type, name, CLAIMS, '1.0.0', '1.1.0', '2.0.0');
    const versionsOf = (reply: Reply) =>
      (
        reply.json as { versions: { version: string; status: string; statusMessage?: string }[] }
      ).versions.map(({ version, status, statusMessage }) => [version, status, statusMessage]);
    const one = await patch(name, '1.1.0', { status: 'deprecated', statusMessage: 'Broken' });
    expect(stateIn(one)).toMatchObject({ status: 'deprecated', isLatest: false });
    expect(versionsOf(await writer().get(entryAt(type, name)))).toEqual([
      ['2.0.0', 'active', undefined],
      ['1.1.0', 'deprecated', 'Broken'],
      ['1.0.0', 'active', undefined],
    ]);
    const all = await patch(name, null, { status: 'deprecated', statusMessage: 'Moved' });
    expect(all.status).toBe(200);
    expect(all.json).toMatchObject({ type, name, claims: CLAIMS });
    expect(versionsOf(all)).toEqual(['2.0.0', '1.1.0', '1.0.0'].map((v) => [v, 'deprecated', 'Moved']));
    expect((await writer().get(entryAt(type, name))).json).toEqual(all.json);
  });

  it('returns 404 for an unknown version or name', async () => {
    const name = aName();
    await publish(writer(), type, name, CLAIMS);
    for (const version of ['1.0', '1.0.0%00', 'latest', '%201.0.0'])
      expectRefused(await patch(name, version, { status: 'deprecated' }), 404, 'version_not_found');
    expectRefused(await patch(aName(), '1.0.0', { status: 'deprecated' }), 404, 'entry_not_found');
    expectRefused(await patch(aName(), null, { status: 'deprecated' }), 404, 'entry_not_found');
  });
});

describe('a server with status deleted', () => {
  const service = full;
  const writer = () => service.as(ACME_WRITER);
  const reader = () => service.as(ACME_PLATFORM);
  const set = (name: string, version: string | null, status: string) =>
    writer().patch(entryAt('server', name, `${version === null ? '' : `/versions/${version}`}/status`), {
      status,
    });
  const listed = async (name: string, query: string) => {
    const reply = await reader().get(`${listAt('server')}?search=${name}&${query}`);
    const { servers } = reply.json as { servers: { server: { name: string; version: string } }[] };
    return servers.filter(({ server }) => server.name === name).map(({ server }) => server.version);
  };
  const latest = async (name: string) => {
    const reply = await reader().get(consumerAt('server', name, '/versions/latest'));
    return (reply.json as { server: { version: string } }).server.version;
  };

  it('is returned only with include_deleted, and in lists with updated_since', async () => {
    const name = aName();
    await publish(writer(), 'server', name, CLAIMS, '1.0.0', '2.0.0');
    await moveToPast(service);
    expect(await listed(name, SINCE)).toEqual([]);
    await set(name, '1.0.0', 'deleted');
    expect(await listed(name, '')).toEqual(['2.0.0']);
    expect(await listed(name, 'include_deleted=true')).toEqual(['2.0.0', '1.0.0']);
    expect(await listed(name, SINCE)).toEqual(['1.0.0']);
    const versions = async (query: string) =>
      (await reader().get(consumerAt('server', name, `/versions${query}`))).json as object;
    expect(await versions('')).toMatchObject({ metadata: { count: 1 } });
    expect(await versions('?include_deleted=true')).toMatchObject({ metadata: { count: 2 } });
    const one = consumerAt('server', name, '/versions/1.0.0');
    expect(outcome(await reader().get(one))).toBe('404 version_not_found');
    const deleted = await reader().get(`${one}?include_deleted=true`);
    expect(stateIn(deleted)).toMatchObject({ status: 'deleted', isLatest: false });
    await set(name, '1.0.0', 'active');
    expect(await listed(name, '')).toEqual(['2.0.0', '1.0.0']);
  });

  it('is not latest while a non-deleted version exists', async () => {
    const name = aName();
    await publish(writer(), 'server', name, CLAIMS, '1.0.0', '1.5.0', '2.0.0');
    await set(name, '2.0.0', 'deprecated');
    expect(await latest(name)).toBe('2.0.0');
    await set(name, '2.0.0', 'deleted');
    expect(await latest(name)).toBe('1.5.0');
    await publish(writer(), 'server', name, CLAIMS, '1.2.0');
    expect(await latest(name)).toBe('1.5.0');
    await set(name, null, 'deleted');
    expect(await listed(name, 'include_deleted=true&version=latest')).toEqual(['2.0.0']);
    await set(name, '1.0.0', 'active');
    expect(await latest(name)).toBe('1.0.0');
    await set(name, null, 'active');
    expect(await latest(name)).toBe('2.0.0');
  });
});

describe('a skill', () => {
  const service = full;
  const writer = () => service.as(ACME_WRITER);

  it.each(STATUSES.skill)('published as %s is found by that status', async (status) => {
    const name = aName();
    const reply = await writer().post(
      '/v1/entries',
      aPublication('skill', name, CLAIMS, '1.0.0', { status }),
    );
    expect(reply.json).toMatchObject({ skill: { status } });
    const found = async (wanted: string) => {
      const list = await writer().get(`${listAt('skill')}?status=${wanted}&limit=100`);
      return (list.json as { skills: Document[] }).skills.map(
        (skill) => `${skill['namespace']}/${skill['name']}`,
      );
    };
    expect(await found(status)).toContain(name);
    const other = status === 'archived' ? 'active' : 'archived';
    await writer().patch(entryAt('skill', name, '/versions/1.0.0/status'), { status: other });
    expect(await found(status)).not.toContain(name);
    expect(await found(other)).toContain(name);
  });
});
