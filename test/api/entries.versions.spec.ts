import { describe, expect, it } from 'vitest';
import { ACME_PLATFORM, ACME_WRITER, SUPER_ADMIN } from '../support/callers.js';
import { expectRefused } from '../support/matchers.js';
import {
  aName,
  aPublication,
  aPublishingService,
  consumerAt,
  contentOf,
  entryAt,
  listAt,
  publish,
  type Type,
  TYPES,
} from '../support/publishing.js';
import { inSoak } from '../support/soak.js';
import { REAL_VERSIONS } from '../support/versions.js';

const CLAIMS = { org: 'acme', team: 'platform' };

const full = aPublishingService('full').runs();

describe('a version of a server', () => {
  const service = full;
  const type = 'server';
  const writer = () => service.as(ACME_WRITER);

  it('is immutable: publishing it again returns 409 version_exists', async () => {
    const name = aName();
    await publish(writer(), type, name, CLAIMS, '1.0.0', '2.0.0');
    const before = await contentOf(service);
    for (const more of [{}, { description: 'Something else' }])
      for (const caller of [writer(), service.as({ ...ACME_WRITER, ...SUPER_ADMIN })]) {
        const reply = await caller.post('/v1/entries', aPublication(type, name, CLAIMS, '1.0.0', more));
        expectRefused(reply, 409, 'version_exists');
      }
    expect(await contentOf(service)).toEqual(before);
    const next = await writer().post('/v1/entries', aPublication(type, name, CLAIMS, '1.0.1'));
    expect(next.status).toBe(201);
  });

  it('may be published again with another document after it was deleted', async () => {
    const name = aName();
    await publish(writer(), type, name, CLAIMS, '1.0.0', '2.0.0');
    const removed = await writer().delete(entryAt(type, name, '/versions/1.0.0'));
    expect({ status: removed.status, text: removed.text }).toEqual({ status: 204, text: '' });
    expectRefused(await writer().get(entryAt(type, name, '/versions/1.0.0')), 404, 'version_not_found');
    expectRefused(await writer().delete(entryAt(type, name, '/versions/1.0.0')), 404, 'version_not_found');
    const more = { description: 'Something else' };
    const reply = await writer().post('/v1/entries', aPublication(type, name, CLAIMS, '1.0.0', more));
    expect(reply.json).toMatchObject({ [type]: more });
  });

  it('deletes the entry when it was the last one', async () => {
    const name = aName();
    await publish(writer(), type, name, CLAIMS, '1.0.0', '2.0.0');
    await writer().delete(entryAt(type, name, '/versions/2.0.0'));
    expect((await writer().get(entryAt(type, name))).json).toMatchObject({
      versions: [{ version: '1.0.0', isLatest: true }],
    });
    expect((await writer().delete(entryAt(type, name, '/versions/1.0.0'))).status).toBe(204);
    for (const below of ['', '/claims', '/versions/1.0.0'])
      expectRefused(await writer().get(entryAt(type, name, below)), 404, 'entry_not_found');
    expectRefused(await writer().delete(entryAt(type, name, '/versions/1.0.0')), 404, 'entry_not_found');
    expect(await service.database.query(`select 1 from entry where name = $1`, [name])).toEqual([]);
    const first = aPublication(type, name, { org: 'acme' });
    expect((await writer().post('/v1/entries', first)).json).toMatchObject({ claims: { org: 'acme' } });
  });
});

// Versions published in this order, versions then deleted, and the resulting latest version. versions.order.spec.ts has more.
const LATEST: readonly [published: string[], removed: string[], latest: string][] = [
  [['1.9.0', '1.10.0', '1.2.0'], [], '1.10.0'],
  [['stable', 'nightly'], [], 'nightly'],
  [['1.0.0', '2.0.0', '3.0.0'], ['3.0.0', '2.0.0'], '1.0.0'],
  [['stable', '1.0.0'], ['1.0.0'], 'stable'],
];

describe.each(TYPES)('the versions of a %s', (type) => {
  const service = full;
  const writer = () => service.as(ACME_WRITER);

  it.each(LATEST)('published %j, deleted %j: latest is %s', async (published, removed, latest) => {
    const name = aName();
    await publish(writer(), type, name, CLAIMS, ...published);
    for (const version of removed) await writer().delete(entryAt(type, name, `/versions/${version}`));
    const { versions } = (await writer().get(entryAt(type, name))).json as {
      versions: { version: string; isLatest: boolean }[];
    };
    expect(versions.filter(({ isLatest }) => isLatest).map(({ version }) => version)).toEqual([latest]);
    const shown = await service.as(ACME_PLATFORM).get(consumerAt(type, name, '/versions/latest'));
    expect(versionOf(type, shown.json)).toBe(latest);
    const listed = await service.as(ACME_PLATFORM).get(`${listAt(type)}?search=${name}&version=latest`);
    const rows = Object.values(listed.json as object)[0] as never[];
    expect(rows.map((row) => versionOf(type, row))).toContain(latest);
  });

  it('are found by any version text', async () => {
    const name = aName();
    const every = inSoak(1, type === 'server' ? 15 : 40);
    const versions = REAL_VERSIONS.filter(
      (version, index) => index % every === 0 || version === '1.0.0+build.2',
    );
    await publish(writer(), type, name, CLAIMS, ...versions);
    for (const version of versions) {
      const below = `/versions/${encodeURIComponent(version)}`;
      expect((await writer().get(entryAt(type, name, below))).json).toMatchObject({ version });
      const shown = await service.as(ACME_PLATFORM).get(consumerAt(type, name, below));
      expect(versionOf(type, shown.json)).toBe(version);
    }
    const body = aPublication(type, name, CLAIMS, '1.0.0+build.2');
    expectRefused(await writer().post('/v1/entries', body), 409, 'version_exists');
    const encoded = encodeURIComponent('1.0.0+build.2');
    expect((await writer().delete(entryAt(type, name, `/versions/${encoded}`))).status).toBe(204);
    expect((await writer().get(entryAt(type, name))).json).toMatchObject({
      versions: { length: versions.length - 1 },
    });
  });

  it('cannot be addressed as latest in the admin API', async () => {
    const name = aName();
    await publish(writer(), type, name, CLAIMS);
    const at = entryAt(type, name, '/versions/latest');
    expectRefused(await writer().get(at), 404, 'version_not_found');
    expectRefused(await writer().delete(at), 404, 'version_not_found');
    expect((await writer().get(entryAt(type, name, '/versions/1.0.0'))).status).toBe(200);
  });
});

// The rules have their full table in src/documents/document-rules.spec.ts.
const NO_VERSIONS = ['latest', '^1.0.0', '', ' 1.0.0', '1.'.repeat(128)];
const VERSIONS = ['latest-1', '1.0.0-x.1', '1'.repeat(255)];

describe.each(TYPES)('a %s', (type) => {
  const service = full;
  const writer = () => service.as(ACME_WRITER);

  it.each(NO_VERSIONS)('is refused with version %j', async (version) => {
    const name = aName();
    const reply = await writer().post('/v1/entries', aPublication(type, name, CLAIMS, version));
    expectRefused(reply, 400, 'invalid_document');
    const { error, details } = reply.json as { error: string; details: string[] };
    expect(details.every((detail) => detail.startsWith(`${type}.version: `))).toBe(true);
    expect(error).toContain(details[0]);
    expectRefused(await writer().get(entryAt(type, name)), 404, 'entry_not_found');
  });

  it.each(VERSIONS)('is accepted with version %j', async (version) => {
    const reply = await writer().post('/v1/entries', aPublication(type, aName(), CLAIMS, version));
    expect(reply.json).toMatchObject({ version, [type]: { version } });
  });

  it.each([1, undefined])('is refused with %j as version', async (version) => {
    const { [type]: document } = aPublication(type, aName(), CLAIMS);
    const body = { [type]: { ...(document as object), version }, claims: CLAIMS };
    const reply = await writer().post('/v1/entries', body);
    expectRefused(reply, 400, 'invalid_document');
    const rule = version === undefined ? 'is required' : 'must be a string, not ';
    expect((reply.json as { details: string[] }).details[0]).toContain(`${type}.version: ${rule}`);
  });
});

function versionOf(type: Type, shown: unknown): string {
  const { server, version } = shown as { server?: { version: string }; version?: string };
  return String(type === 'server' ? server?.version : version);
}
