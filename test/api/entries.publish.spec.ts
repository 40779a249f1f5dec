import { describe, expect, it } from 'vitest';
import { ACME_ADMIN, ACME_PLATFORM, ACME_WRITER, SUPER_ADMIN } from '../support/callers.js';
import type { Document } from '../support/documents.js';
import { expectRefused } from '../support/matchers.js';
import {
  aName,
  anyone,
  aPublication,
  aPublishingService,
  type ByMode,
  entryAt,
  inMode,
  MODES,
  outcome,
  rowsIn,
  TYPES,
  TYPES_IN,
} from '../support/publishing.js';

const OK: ByMode = ['ok', 'ok', 'ok'];
const REQUIRED: ByMode = ['ok', '400 claims_required', '400 claims_required'];
const BEYOND: ByMode = ['ok', '400 claims_not_subset', '400 claims_not_subset'];
const MALFORMED: ByMode = ['400 invalid_body', '400 invalid_body', '400 invalid_body'];

type Case = readonly [what: string, held: Document, claims: unknown, answers: ByMode];

// reference/publishing, reference/access. Refused and allowed rows differ by one claim.
const FIRST_VERSIONS: readonly Case[] = [
  ['no claims', ACME_WRITER, undefined, REQUIRED],
  ['an empty map', ACME_WRITER, {}, REQUIRED],
  ['one claim of the token', ACME_WRITER, { org: 'acme' }, OK],
  ['every claim of the token', ACME_WRITER, ACME_WRITER, OK],
  ['two claims of the token', ACME_WRITER, { org: 'acme', team: 'platform' }, OK],
  ['one of two claims with another value', ACME_WRITER, { org: 'acme', team: 'data' }, BEYOND],
  ['one claim with another value', ACME_WRITER, { org: 'contoso' }, BEYOND],
  ['a value in another letter case', ACME_WRITER, { org: 'Acme' }, BEYOND],
  ['a claim the token lacks', ACME_WRITER, { org: 'acme', tier: 'gold' }, BEYOND],
  ['the same, held', { ...ACME_WRITER, tier: 'gold' }, { org: 'acme', tier: 'gold' }, OK],
  ['a claim named like an inherited property', ACME_WRITER, { constructor: 'Object' }, BEYOND],
  ['the same, held', { ...ACME_WRITER, constructor: 'Object' }, { constructor: 'Object' }, OK],
  ['the subject of the token', ACME_WRITER, { sub: 'wim' }, OK],
  ['the subject of another token', ACME_WRITER, { sub: 'pia' }, BEYOND],
  ['the audience of the token', ACME_WRITER, { aud: 'registry' }, OK],
  ['a string that is in the held array', teams('platform', 'data'), { team: 'data' }, OK],
  ['a string that is not in the held array', teams('platform', 'data'), { team: 'web' }, BEYOND],
  ['an array of the held string', teams('platform'), { team: ['platform'] }, OK],
  ['an array with more than the held string', ACME_WRITER, { team: ['platform', 'data'] }, BEYOND],
  ['an array equal to the held one', teams('platform', 'data'), { team: ['platform', 'data'] }, OK],
  ['an array held in another order', teams('data', 'platform'), { team: ['platform', 'data'] }, OK],
  ['a subset of the held array', teams('platform', 'data', 'web'), { team: ['web', 'data'] }, OK],
  ['an array with one value beyond', teams('platform', 'data'), { team: ['platform', 'web'] }, BEYOND],
  ['an array for a key that is not held', { role: 'writer' }, { team: ['platform'] }, BEYOND],
  ['the JSON text of a held number', { ...ACME_WRITER, level: 3 }, { level: '3' }, OK],
  ['the text of another number', { ...ACME_WRITER, level: 3 }, { level: '4' }, BEYOND],
  ['the JSON text of a held boolean', { ...ACME_WRITER, staff: true }, { staff: 'true' }, OK],
  ['the other boolean', { ...ACME_WRITER, staff: true }, { staff: 'false' }, BEYOND],
  ['a nested claim by dotted path', { ...ACME_WRITER, realm: { org: 'x' } }, { 'realm.org': 'x' }, BEYOND],
  ['a claim with dots in its name', { ...ACME_WRITER, 'realm.org': 'x' }, { 'realm.org': 'x' }, OK],
  ['nothing, as a super-admin', SUPER_ADMIN, undefined, ['ok', '400 claims_required', 'ok']],
  ['an empty map, as a super-admin', SUPER_ADMIN, {}, ['ok', '400 claims_required', 'ok']],
  ['claims beyond a super-admin', SUPER_ADMIN, { org: 'acme' }, ['ok', '400 claims_not_subset', 'ok']],
  ['claims a super-admin holds', SUPER_ADMIN, { role: 'super-admin' }, OK],
  ['null', ACME_WRITER, null, MALFORMED],
  ['a string', ACME_WRITER, 'org', MALFORMED],
  ['a list', ACME_WRITER, [{ org: 'acme' }], MALFORMED],
  ['an empty list of values', ACME_WRITER, { org: [] }, MALFORMED],
  ['a number', { ...ACME_WRITER, level: 3 }, { level: 3 }, MALFORMED],
  ['a nested map', { ...ACME_WRITER, realm: { org: 'x' } }, { realm: { org: 'x' } }, MALFORMED],
  ['a list in a list', teams('platform'), { team: [['platform']] }, MALFORMED],
  ['a claim without a name', { ...ACME_WRITER, '': 'x' }, { '': 'x' }, MALFORMED],
  ['jti', { ...ACME_WRITER, jti: 'a' }, { jti: 'a' }, MALFORMED],
  ['exp, as a super-admin', SUPER_ADMIN, { exp: '1' }, MALFORMED],
  ['a list, as a super-admin', SUPER_ADMIN, [], MALFORMED],
];

const WITH_ARRAYS = FIRST_VERSIONS.filter(([, held, claims]) =>
  JSON.stringify({ held, claims }).includes('['),
);

const full = aPublishingService('full').runs();

describe.each(MODES)('in %s mode', (mode) => {
  const service = mode === 'full' ? full : aPublishingService(mode).runs();

  describe.each(TYPES_IN[mode])('the first version of a %s', (type) => {
    it.each(rowsIn(mode, FIRST_VERSIONS))(
      'is allowed or refused by its claims: %s',
      async (_what, held, claims, answers) => {
        const name = aName();
        const reply = await service.as(held).post('/v1/entries', aPublication(type, name, claims));
        expect(outcome(reply)).toBe(inMode(answers, mode));
        const stored = await anyone(service).get(entryAt(type, name, '/claims'));
        if (reply.status !== 201) expectRefused(stored, 404, 'entry_not_found');
        else expect(reply.json).toMatchObject({ type, name, version: '1.0.0', claims: claims ?? {} });
      },
    );
  });
});

describe('with arrayValues "any" for reads', () => {
  const service = aPublishingService('full', { arrayValues: 'any' }).runs();

  it.each(WITH_ARRAYS)(
    'publishing with %s is not affected by the policy',
    async (_what, held, claims, answers) => {
      const reply = await service.as(held).post('/v1/entries', aPublication('server', aName(), claims));
      expect(outcome(reply)).toBe(inMode(answers, 'full'));
    },
  );
});

describe.each(TYPES)('publishing a %s', (type) => {
  const service = full;

  it('requires the role manageEntries', async () => {
    const body = aPublication(type, aName(), { org: 'acme' });
    expectRefused(await service.as(ACME_PLATFORM).post('/v1/entries', body), 403, 'role_required');
    expectRefused(await service.as(ACME_ADMIN).post('/v1/entries', body), 403, 'role_required');
    expect((await service.as(ACME_WRITER).post('/v1/entries', body)).status).toBe(201);
  });

  it('returns 201 with the document, the claims and _meta', async () => {
    const name = aName();
    const before = Date.now();
    const publication = aPublication(type, name, { team: 'platform', org: 'acme' }, '1.2.3');
    const reply = await service.as(ACME_WRITER).post('/v1/entries', publication);
    expect(reply.status).toBe(201);
    expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
    const { _meta: meta, ...answer } = reply.json as { _meta: Record<string, Record<string, unknown>> };
    expect(answer).toEqual({ type, name, version: '1.2.3', ...publication });
    const date: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(meta).toEqual({
      'io.modelcontextprotocol.registry/official': {
        status: 'active',
        statusChangedAt: date,
        publishedAt: date,
        updatedAt: date,
        isLatest: true,
      },
    });
    const publishedAt = Date.parse(
      String(meta['io.modelcontextprotocol.registry/official']?.['publishedAt']),
    );
    expect(publishedAt).toBeGreaterThanOrEqual(before - 1);
    expect(publishedAt).toBeLessThanOrEqual(Date.now() + 1);
    const shown = await service.as(ACME_WRITER).get(entryAt(type, name, '/versions/1.2.3'));
    const publishedBy = { subject: 'wim', issuer: service.issuer.iss };
    const content = type === 'server' ? {} : { content: { status: 'none' } };
    expect(shown.json).toEqual({ ...(reply.json as object), publishedBy, ...content });
  });

  it.each([
    ['no document', { claims: { org: 'acme' } }],
    ['nothing', {}],
    ['a list', []],
    ['no body', undefined],
    ['an unknown key', { ...aPublication(type, 'io.acme/key', { org: 'acme' }), status: 'active' }],
    ['an unknown type', { agent: { name: 'io.acme/agent' }, claims: { org: 'acme' } }],
    [
      'both types',
      {
        ...aPublication('server', 'io.acme/both', { org: 'acme' }),
        ...aPublication('skill', 'io.acme/both', { org: 'acme' }),
      },
    ],
  ])('returns 400 for %s', async (_what, body) => {
    expectRefused(await service.as(ACME_WRITER).post('/v1/entries', body), 400, 'invalid_body');
  });

  it('accepts JSON only', async () => {
    const body = JSON.stringify(aPublication(type, aName(), { org: 'acme' }));
    const send = (sent: string, contentType: string) =>
      service.as(ACME_WRITER).post('/v1/entries', sent, { 'Content-Type': contentType });
    expectRefused(await send(body, 'text/plain'), 415, 'unsupported_media_type');
    expectRefused(await send(body.slice(1), 'application/json'), 400, 'malformed_json');
    expect((await send(body, 'application/json; charset=utf-8')).status).toBe(201);
  });
});

describe('a managed source with the claims of another organization', () => {
  const service = aPublishingService('full')
    .source('published', { kind: 'managed', claims: { org: 'contoso' } })
    .runs();

  // reference/access: a managed source's claims decide who manages it, not who publishes to it.
  it.each(TYPES)('accepts a %s from any publisher, and does not add its own claims', async (type) => {
    const name = aName();
    const body = aPublication(type, name, { org: 'acme' });
    expect((await service.as(ACME_WRITER).post('/v1/entries', body)).json).toMatchObject({
      claims: { org: 'acme' },
    });
    const beyond = aPublication(type, aName(), { org: 'contoso' });
    expectRefused(await service.as(ACME_WRITER).post('/v1/entries', beyond), 400, 'claims_not_subset');
  });
});

function teams(...team: string[]): Document {
  return { ...ACME_WRITER, team };
}
