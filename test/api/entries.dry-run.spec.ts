import { describe, expect, it } from 'vitest';
import { ACME_PLATFORM, ACME_WRITER, SUPER_ADMIN } from '../support/callers.js';
import type { Document } from '../support/documents.js';
import { expectRefused } from '../support/matchers.js';
import {
  aName,
  aPublication,
  aPublishingService,
  contentOf,
  entryAt,
  type Mode,
  MODES,
  outcome,
  publish,
  timeless,
  type Type,
  TYPES_IN,
} from '../support/publishing.js';

const CLAIMS = { org: 'acme', team: 'platform' };
const ADMIN = { ...ACME_WRITER, ...SUPER_ADMIN };

const RESERVING = {
  kind: 'managed',
  settings: { names: [{ include: ['com.other/*'], claims: { org: 'other' } }] },
} as const;

interface PublishRequest {
  what: string;
  held: Document;
  /** The body, given a name that exists in version 1.0.0 and a new one. */
  body: (type: Type, taken: string, fresh: string) => unknown;
  answer: Record<Mode, string>;
}

const always = (answer: string): PublishRequest['answer'] => ({
  anonymous: answer,
  'auth-only': answer,
  full: answer,
});
const oauth = (answer: string): PublishRequest['answer'] => ({ ...always(answer), anonymous: 'ok' });

const REQUESTS: readonly PublishRequest[] = [
  { what: 'a first version', held: ACME_WRITER, body: (t, _, n) => aPublication(t, n, CLAIMS), answer: always('ok') },
  { what: 'a new claim set', held: { ...ACME_WRITER, org: ['acme', 'new'] }, body: (t, _, n) => aPublication(t, n, { org: ['acme', 'new'] }), answer: always('ok') },
  { what: 'a later version', held: ACME_WRITER, body: (t, n) => aPublication(t, n, CLAIMS, '2.0.0'), answer: always('ok') },
  { what: 'an older version', held: ACME_WRITER, body: (t, n) => aPublication(t, n, CLAIMS, '0.1.0'), answer: always('ok') },
  { what: 'a later version of a super-admin without claims', held: ADMIN, body: (t, n) => aPublication(t, n, undefined, '2.0.0'), answer: { anonymous: '400 claims_mismatch', 'auth-only': '400 claims_required', full: 'ok' } },
  { what: 'an existing version', held: ACME_WRITER, body: (t, n) => aPublication(t, n, CLAIMS), answer: always('409 version_exists') },
  { what: 'other claims', held: ACME_WRITER, body: (t, n) => aPublication(t, n, { org: 'acme' }, '2.0.0'), answer: always('400 claims_mismatch') },
  { what: 'claims beyond the token', held: ACME_WRITER, body: (t, _, n) => aPublication(t, n, { org: 'x' }), answer: oauth('400 claims_not_subset') },
  { what: 'no claims', held: ACME_WRITER, body: (t, _, n) => aPublication(t, n), answer: oauth('400 claims_required') },
  { what: 'malformed claims', held: ACME_WRITER, body: (t, _, n) => aPublication(t, n, { org: 1 }), answer: always('400 invalid_body') },
  { what: 'a reserved name', held: ACME_WRITER, body: (t, _, n) => aPublication(t, n.replace('io.acme', 'com.other'), CLAIMS), answer: oauth('400 name_reserved') },
  { what: 'a range for a version', held: ACME_WRITER, body: (t, _, n) => aPublication(t, n, CLAIMS, '^1.0.0'), answer: always('400 invalid_document') },
  { what: 'an unknown key', held: ACME_WRITER, body: (t, _, n) => ({ ...aPublication(t, n, CLAIMS), dryRun: true }), answer: always('400 invalid_body') },
  { what: 'no JSON', held: ACME_WRITER, body: () => '{', answer: always('400 malformed_json') },
  { what: 'no body', held: ACME_WRITER, body: () => undefined, answer: always('400 invalid_body') },
  { what: 'no role', held: ACME_PLATFORM, body: (t, _, n) => aPublication(t, n, CLAIMS), answer: { ...always('ok'), full: '403 role_required' } },
]; // oxfmt-ignore

/** All requests in full mode; in the other modes, only the first one with each response. */
const requestsIn = (mode: Mode) =>
  mode === 'full'
    ? REQUESTS
    : REQUESTS.filter(
        ({ answer }, index) => index === REQUESTS.findIndex((other) => other.answer[mode] === answer[mode]),
      );

const full = aPublishingService('full').source('published', RESERVING).runs();

describe.each(MODES)('in %s mode', (mode) => {
  const service = mode === 'full' ? full : aPublishingService(mode).source('published', RESERVING).runs();

  describe.each(TYPES_IN[mode])('validate and dry run of a %s', (type) => {
    it.each(requestsIn(mode))('respond like publishing and write nothing: $what', async (asked) => {
      const [taken, fresh] = [aName(), aName()];
      await publish(service.as({ ...ACME_WRITER }), type, taken, CLAIMS);
      const body = asked.body(type, taken, fresh);
      const caller = service.as(asked.held);
      const before = await contentOf(service);
      const validated = await caller.post('/v1/entries/validate', body);
      const dry = await caller.post('/v1/entries?dry_run=true', body);
      expect(await contentOf(service)).toEqual(before);
      const published = await caller.post('/v1/entries?dry_run=false', body);
      expect(outcome(published)).toBe(asked.answer[mode]);
      for (const reply of [validated, dry]) {
        expect(reply.status).toBe(published.status === 201 ? 200 : published.status);
        expect(timeless(reply)).toBe(timeless(published));
        expect(reply.headers['content-type']).toBe(published.headers['content-type']);
      }
      const after = await contentOf(service);
      if (published.status === 201) expect(after).not.toEqual(before);
      else expect(after).toEqual(before);
    });
  });
});

describe('dry_run', () => {
  const service = full;

  it.each(['', '1', 'TRUE', 'yes', 'true&dry_run=true', 'true&dry_run=false'])(
    'returns 400 for %j and writes nothing',
    async (value) => {
      const name = aName();
      const post = (query: string) =>
        service.as(ACME_WRITER).post(`/v1/entries?dry_run=${query}`, aPublication('server', name, CLAIMS));
      expectRefused(await post(value), 400, 'invalid_parameter');
      expect((await service.as(ACME_WRITER).get(entryAt('server', name))).status).toBe(404);
      expect((await post('false')).status).toBe(201);
    },
  );
});
