import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SUPER_ADMIN } from '../support/callers.js';
import type { Document } from '../support/documents.js';
import type { Reply } from '../support/http.js';
import { expectRefused } from '../support/matchers.js';
import { aDocument, aName, aPublication, entryAt, publish, type Type, TYPES } from '../support/publishing.js';
import { aService, type ServiceUnderTest } from '../support/service.js';

const VERSIONS = 3;
const BYTES = 8 * 1_024;
const CLAIMS = { org: 'acme' };
const AT_ONCE = 12;

const service = aService({ mode: 'full' })
  .source('published', { kind: 'managed' })
  .registry('main', { sources: ['published'], publishClaims: CLAIMS })
  .configuration({ limits: { versionsPerEntry: VERSIONS, bytesPerEntry: '8KiB' } })
  .runs();
const writer = (on: ServiceUnderTest = service) => on.as({ sub: 'wim', org: 'acme', role: 'writer' });
const outsider = () => service.as({ sub: 'olga', org: 'contoso', role: 'writer' });

/** Publishes 1.0.0 to 3.0.0. */
async function fill(type: Type): Promise<string> {
  const name = aName();
  await publish(writer(), type, name, CLAIMS, '1.0.0', '2.0.0', '3.0.0');
  return name;
}

const versionsOf = async (name: string, type: Type = 'server') =>
  (
    (await service.as(SUPER_ADMIN).get(entryAt(type, name))).json as { versions: { version: string }[] }
  ).versions.map(({ version }) => version);

type Send = (type: Type, name: string, version: string, more?: Document) => Promise<Reply>;
const DOORS: Record<'publishing' | 'a dry run' | 'validation', Send> = {
  publishing: (type, name, version, more) =>
    writer().post('/v1/entries', aPublication(type, name, CLAIMS, version, more)),
  'a dry run': (type, name, version, more) =>
    writer().post('/v1/entries?dry_run=true', aPublication(type, name, CLAIMS, version, more)),
  validation: (type, name, version, more) =>
    writer().post('/v1/entries/validate', aPublication(type, name, CLAIMS, version, more)),
};
const PUBLISHER: Record<string, Send> = {
  ...DOORS,
  'mcp-publisher': (type, name, version, more) =>
    writer().post('/registry/main/v0.1/publish', aDocument(type, name, version, more)),
};

describe.each(TYPES)('an entry of type %s with limits.versionsPerEntry versions', (type) => {
  it.each(Object.entries<Send>(type === 'server' ? PUBLISHER : DOORS))(
    'refuses another one: %s',
    async (_door, send) => {
      const name = await fill(type);
      const reply = await send(type, name, '4.0.0');
      expectRefused(reply, 409, 'entry_full');
      expect((reply.json as { error: string }).error).toBe(
        `${name} would have more than 3 versions (limits.versionsPerEntry): delete versions, use another name, or ask an operator to raise the limit`,
      );
      expect(await versionsOf(name, type)).toEqual(['3.0.0', '2.0.0', '1.0.0']);
      expect((await writer().delete(entryAt(type, name, '/versions/1.0.0'))).status).toBe(204);
      expect((await send(type, name, '4.0.0')).status).toBeLessThan(300);
    },
  );
});

describe('limits of an entry', () => {
  it('include deleted versions', async () => {
    const name = await fill('server');
    const { status } = await writer().patch(entryAt('server', name, '/versions/1.0.0/status'), {
      status: 'deleted',
    });
    expect(status).toBe(200);
    expectRefused(await DOORS.publishing('server', name, '4.0.0'), 409, 'entry_full');
  });

  it('do not replace the error version_exists', async () => {
    const name = await fill('server');
    expectRefused(await DOORS.publishing('server', name, '3.0.0'), 409, 'version_exists');
    expectRefused(await DOORS.validation('server', name, '3.0.0'), 409, 'version_exists');
  });

  it('are shown only to publishers who cover the claims of the entry', async () => {
    const name = await fill('server');
    for (const claims of [CLAIMS, { org: 'contoso' }]) {
      const reply = await outsider().post('/v1/entries', aPublication('server', name, claims, '4.0.0'));
      expectRefused(reply, 400, claims === CLAIMS ? 'claims_not_subset' : 'claims_mismatch');
    }
  });

  it.each(Object.entries(PUBLISHER))('cover the bytes of the documents: %s', async (_door, send) => {
    const name = aName();
    const half = { _meta: { filler: 'é'.repeat(BYTES / 4 - 150) } };
    const whole = { _meta: { filler: 'é'.repeat(BYTES / 2) } };
    const first = await send('server', name, '1.0.0', whole);
    expectRefused(first, 409, 'entry_full');
    expect((first.json as { error: string }).error).toContain(
      'more than 8192 bytes of documents (limits.bytesPerEntry)',
    );
    await writer().post('/v1/entries', aPublication('server', name, CLAIMS, '1.0.0', half));
    expectRefused(await send('server', name, '2.0.0', whole), 409, 'entry_full');
    expect((await send('server', name, '2.0.0', half)).status).toBeLessThan(300);
  });

  it('are part of explanations', async () => {
    const name = await fill('server');
    const ask = async (version?: string) => {
      const entry = { type: 'server', name, ...(version ? { version } : {}) };
      const reply = await writer().post('/v1/access/explain', {
        registry: 'main',
        entry,
        action: 'publish',
        claims: CLAIMS,
      });
      return (reply.json as { answer: object }).answer;
    };
    expect(await ask('4.0.0')).toEqual({ status: 409, code: 'entry_full' });
    expect(await ask()).toEqual({ status: 409, code: 'entry_full' });
    expect(await ask('3.0.0')).toEqual({ status: 409, code: 'version_exists' });
    await writer().delete(entryAt('server', name, '/versions/1.0.0'));
    expect(await ask('4.0.0')).toEqual({ status: 201 });
    expect(await ask()).toEqual({ status: 201 });
  });
});

describe('on two replicas', () => {
  let other: ServiceUnderTest;
  beforeAll(async () => {
    other = service.replica();
    await other.start();
  });
  afterAll(() => other.stop());

  it.each([0, 1, 2])('concurrent publications store exactly the limit, round %i', async () => {
    const name = aName();
    const replies = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, index) =>
        writer(index % 2 === 0 ? service : other).post(
          '/v1/entries',
          aPublication('server', name, CLAIMS, `${index}.0.0`),
        ),
      ),
    );
    const codes = replies.map(({ status, json }) => (json as { code?: string }).code ?? status).sort();
    expect(codes).toEqual([201, 201, 201, ...Array.from({ length: AT_ONCE - VERSIONS }, () => 'entry_full')]);
    expect(await versionsOf(name)).toHaveLength(VERSIONS);
  });
});

it('a lowered limit removes nothing and only refuses more', async () => {
  const name = await fill('server');
  await service.restart((edited) =>
    edited.configuration({ limits: { versionsPerEntry: 1, bytesPerEntry: '1KiB' } }),
  );
  expect(await versionsOf(name)).toEqual(['3.0.0', '2.0.0', '1.0.0']);
  expect((await writer().patch(entryAt('server', name, '/status'), { status: 'deprecated' })).status).toBe(
    200,
  );
  expectRefused(await DOORS.publishing('server', name, '4.0.0'), 409, 'entry_full');
  for (const version of ['3.0.0', '2.0.0'])
    expect((await writer().delete(entryAt('server', name, `/versions/${version}`))).status).toBe(204);
  expectRefused(await DOORS.publishing('server', name, '4.0.0'), 409, 'entry_full');
  const another = aName();
  expect((await DOORS.publishing('server', another, '1.0.0')).status).toBe(201);
});
