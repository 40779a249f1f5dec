import { beforeAll, describe, expect, it } from 'vitest';
import { ACME_DATA, ACME_PLATFORM, ACME_WRITER, CONTOSO_READER, SUPER_ADMIN } from '../support/callers.js';
import { aServer, aSkill, type Document } from '../support/documents.js';
import type { Reply, Sender } from '../support/http.js';
import { expectRefused } from '../support/matchers.js';
import { entryAt } from '../support/publishing.js';
import { aService } from '../support/service.js';

const PLUGINS = '/registry/main/v0.1/x/dev.toolhive/plugins';
const CLAIMS = { org: 'acme', team: 'platform' };
const aPlugin = (name: string, version = '1.0.0', more: Document = {}) => aSkill(name, version, more);
const OFFICIAL = '_meta';

/** `namespace/name@version` of each plugin in the list. */
function pluginsIn(reply: Reply): string[] {
  expect(reply.status).toBe(200);
  const { plugins, metadata } = reply.json as { plugins: Document[]; metadata: { count: number } };
  expect(metadata.count).toBe(plugins.length);
  return plugins.map(({ namespace, name, version }) => `${namespace}/${name}@${version}`);
}

const FILE = {
  servers: [aServer('io.acme/deploy')],
  skills: [aSkill('io.acme/deploy', '9.0.0')],
  plugins: [
    aPlugin('io.acme/deploy', '1.0.0', { metadata: { commands: ['deploy'] }, unknown: [1] }),
    aPlugin('io.acme/deploy', '1.1.0', { status: 'deprecated' }),
    aPlugin('io.acme/review', '2.0.0', { title: 'Finds faults' }),
    aPlugin('io.acme/Bad'),
  ],
};

const first = aService({ mode: 'full' })
  .source('published', { kind: 'managed' })
  .source('file', { ...FILE, claims: { org: 'acme' } })
  .registry('main', { sources: ['published', 'file'] })
  .runs();
const writer = () => first.as(ACME_WRITER);
const publish = (by: Sender, name: string, version = '1.0.0', claims: unknown = CLAIMS) =>
  by.post('/v1/entries', { plugin: aPlugin(name, version), claims });

describe('plugins of a file source', () => {
  const reader = () => first.as(ACME_DATA);

  it('are listed by name with their latest version, separate from servers and skills of the same name', async () => {
    expect(pluginsIn(await reader().get(PLUGINS))).toEqual(['io.acme/deploy@1.1.0', 'io.acme/review@2.0.0']);
    expect((await reader().get(PLUGINS.replace('plugins', 'skills'))).json).toMatchObject({
      skills: [{ name: 'deploy', version: '9.0.0' }],
    });
  });

  it('are returned bare and unchanged', async () => {
    const reply = await reader().get(`${PLUGINS}/io.acme/deploy/versions/1.0.0`);
    expect(reply.json).toEqual(
      aPlugin('io.acme/deploy', '1.0.0', { metadata: { commands: ['deploy'] }, unknown: [1] }),
    );
    expect(reply.json).not.toHaveProperty(OFFICIAL);
    expect((await reader().get(`${PLUGINS}/io.acme/deploy`)).json).toMatchObject({ version: '1.1.0' });
    expect(pluginsIn(await reader().get(`${PLUGINS}/io.acme/deploy/versions`))).toEqual([
      'io.acme/deploy@1.1.0',
      'io.acme/deploy@1.0.0',
    ]);
    expect((await reader().get(PLUGINS.replace('v0.1', 'v0'))).status).toBe(200);
  });

  it('can be searched, filtered by status and paged', async () => {
    expect(pluginsIn(await reader().get(`${PLUGINS}?search=faults`))).toEqual(['io.acme/review@2.0.0']);
    expect(pluginsIn(await reader().get(`${PLUGINS}?status=deprecated`))).toEqual(['io.acme/deploy@1.1.0']);
    const page = await reader().get(`${PLUGINS}?limit=1`);
    const { nextCursor } = (page.json as { metadata: { nextCursor: string } }).metadata;
    expect(pluginsIn(await reader().get(`${PLUGINS}?cursor=${nextCursor}`))).toEqual([
      'io.acme/review@2.0.0',
    ]);
    expectRefused(
      await reader().get(`${PLUGINS.replace('plugins', 'skills')}?cursor=${nextCursor}`),
      400,
      'invalid_cursor',
    );
  });

  it('are skipped and reported when invalid', async () => {
    const source = (await first.as(SUPER_ADMIN).get('/v1/sources/file')).json;
    expect(source).toMatchObject({
      sync: { counts: { entries: 5 }, skipped: [{ reasons: [expect.stringContaining('name')] as string[] }] },
    });
  });

  it('are hidden from callers who do not cover their claims, in lists and by name', async () => {
    const stranger = first.as(CONTOSO_READER);
    expect(pluginsIn(await stranger.get(PLUGINS))).toEqual([]);
    const hidden = await stranger.get(`${PLUGINS}/io.acme/deploy`);
    expectRefused(hidden, 404, 'entry_not_found');
    const missing = await stranger.get(`${PLUGINS}/io.acme/nobody`);
    expect({ ...(hidden.json as object), requestId: '' }).toEqual({
      ...(missing.json as object),
      requestId: '',
    });
  });
});

describe('a published plugin', () => {
  it('has the same lifecycle as a skill', async () => {
    const name = 'io.acme/published';
    const platform = first.as(ACME_PLATFORM);
    expect((await publish(writer(), name)).json).toMatchObject({
      type: 'plugin',
      name,
      version: '1.0.0',
      claims: CLAIMS,
      plugin: { name: 'published' },
    });
    expectRefused(await publish(writer(), name), 409, 'version_exists');
    expectRefused(await publish(platform, 'io.acme/other'), 403, 'role_required');
    expectRefused(await publish(writer(), 'io.acme/other', '1.0.0', { org: 'x' }), 400, 'claims_not_subset');
    expectRefused(await publish(writer(), 'io.acme/Other'), 400, 'invalid_document');
    expect((await publish(writer(), name, '1.1.0')).status).toBe(201);
    expect((await platform.get(`${PLUGINS}/${name}`)).json).toMatchObject({ version: '1.1.0' });
    expectRefused(await first.as(ACME_DATA).get(`${PLUGINS}/${name}`), 404, 'entry_not_found');

    const status = entryAt('plugin', name, '/versions/1.1.0/status');
    expect((await writer().patch(status, { status: 'archived' })).json).toMatchObject({
      plugin: { status: 'archived' },
    });
    expect(pluginsIn(await platform.get(`${PLUGINS}?status=archived`))).toEqual([`${name}@1.1.0`]);

    const claims = entryAt('plugin', name, '/claims');
    expect((await writer().put(claims, { claims: { org: 'acme' } })).status).toBe(204);
    expect((await first.as(ACME_DATA).get(`${PLUGINS}/${name}`)).status).toBe(200);
    expect((await writer().put(claims, { claims: {} })).status).toBe(204);
    expectRefused(await platform.get(`${PLUGINS}/${name}`), 404, 'entry_not_found');

    expect((await writer().get('/v1/entries')).json).toMatchObject({ entries: [{ type: 'plugin', name }] });
    for (const version of ['1.0.0', '1.1.0'])
      expect((await writer().delete(entryAt('plugin', name, `/versions/${version}`))).status).toBe(204);
    expectRefused(await writer().get(entryAt('plugin', name)), 404, 'entry_not_found');
  });

  it('shadows the same name in a later source, for callers who see it', async () => {
    await publish(writer(), 'io.acme/review', '0.1.0');
    expect((await first.as(ACME_PLATFORM).get(`${PLUGINS}/io.acme/review`)).json).toMatchObject({
      version: '0.1.0',
    });
    expect((await first.as(ACME_DATA).get(`${PLUGINS}/io.acme/review`)).json).toMatchObject({
      version: '2.0.0',
    });
  });

  it('is refused in one body with a skill: exactly one document is required', async () => {
    const body = { plugin: aPlugin('io.acme/two'), skill: aSkill('io.acme/two'), claims: CLAIMS };
    expectRefused(await writer().post('/v1/entries', body), 400, 'invalid_body');
    expect((await writer().post('/v1/entries', { plugin: body.plugin, claims: CLAIMS })).status).toBe(201);
  });
});

describe('an api source that points to this registry server', () => {
  const mirror = aService().registry('mirror', { sources: ['upstream'] });
  // Runs after the first service has started and before this one does.
  beforeAll(() => {
    const token = first.write('token', first.issuer.sign(ACME_DATA));
    const endpoint = `${first.origin}/registry/main`;
    mirror.source('upstream', { kind: 'api', settings: { endpoint, tokenFile: token } });
  });
  mirror.runs();

  it('mirrors plugins with all versions and re-reads them only when something changes', async () => {
    const at = PLUGINS.replace('main', 'mirror');
    expect(pluginsIn(await mirror.get(at))).toEqual(['io.acme/deploy@1.1.0', 'io.acme/review@2.0.0']);
    expect(pluginsIn(await mirror.get(`${at}/io.acme/deploy/versions`))).toHaveLength(2);
    expect(await mirror.synced('upstream')).toMatchObject({ status: 'complete', error: null });
    const open = { org: 'acme', team: 'data' };
    const by = first.as({ sub: 'dora', role: 'writer', ...open });
    expect((await publish(by, 'io.acme/later', '1.0.0', open)).status).toBe(201);
    expect(await mirror.synced('upstream')).toMatchObject({ status: 'complete' });
    expect(pluginsIn(await mirror.get(at))).toContain('io.acme/later@1.0.0');
  });
});
