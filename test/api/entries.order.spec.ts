import { describe, expect, it } from 'vitest';
import { ACME_ADMIN, ACME_PLATFORM, ACME_WRITER, SUPER_ADMIN } from '../support/callers.js';
import { aServer, aSkill } from '../support/documents.js';
import { expectChallenge, expectRefused } from '../support/matchers.js';
import {
  aName,
  anyone,
  aPublication,
  aPublishingService,
  contentOf,
  ENTRY_ROUTES,
  entryAt,
  publish,
  timeless,
  TYPES,
} from '../support/publishing.js';

const CLAIMS = { org: 'acme', team: 'platform' };
const STRANGER = { ...ACME_WRITER, team: 'data' };

const service = aPublishingService('full')
  .source('file', {
    servers: [aServer('io.acme/filed')],
    skills: [aSkill('io.acme/filed')],
    claims: { org: 'acme' },
  })
  .registry('both', { sources: ['published', 'file'] })
  .runs();

// reference/errors: token, role, load or 404, body 400.
describe.each(TYPES)('order of the checks for a %s', (type) => {
  // The routes are the same for all types.
  const routes = ENTRY_ROUTES.filter(([method]) => type === 'server' || method === 'PUT');

  it.each(routes)('%s …%s checks token, role, 404, then the body', async (method, below, right) => {
    const name = aName();
    await publish(service.as(ACME_WRITER), type, name, CLAIMS);
    const before = await contentOf(service);
    const path = entryAt(type, name, below);
    const bodies: unknown[] = right ? [{ wrong: true }, '{', undefined] : [undefined];
    for (const body of bodies) {
      const sent = body === undefined ? {} : { body };
      expectChallenge(await service.send(method, path, sent));
      expectChallenge(await service.bearing('a.b.c').send(method, path, sent), { error: 'invalid_token' });
      for (const claims of [ACME_PLATFORM, ACME_ADMIN])
        expectRefused(await service.as(claims).send(method, path, sent), 403, 'role_required');
      for (const [claims, hidden] of [
        [STRANGER, path],
        [ACME_WRITER, entryAt(type, aName(), below)],
        [SUPER_ADMIN, entryAt(type, 'io.acme/filed', below)],
        [ACME_WRITER, entryAt(type, 'io.acme/filed', below)],
      ] as const)
        expectRefused(await service.as(claims).send(method, hidden, sent), 404, 'entry_not_found');
      if (!right) continue;
      const code = body === '{' ? 'malformed_json' : 'invalid_body';
      expectRefused(await service.as(ACME_WRITER).send(method, path, sent), 400, code);
    }
    const text = await service.as(STRANGER).send(method, path, { body: right });
    const free = await service.as(STRANGER).send(method, entryAt(type, aName(), below), { body: right });
    expect(timeless(text)).toBe(timeless(free));
    expect(await contentOf(service)).toEqual(before);
    const allowed = await service.as(ACME_WRITER).send(method, path, right ? { body: right } : {});
    expect(allowed.status).toBeLessThan(300);
  });

  it.each(routes.filter(([, below]) => below.includes('1.0.0')))(
    '%s …%s checks the version before the body',
    async (method, below, right) => {
      const name = aName();
      await publish(service.as(ACME_WRITER), type, name, CLAIMS);
      const path = entryAt(type, name, below.replace('1.0.0', '3.0.0'));
      const sent = right ? { body: '{' } : {};
      expectRefused(await service.as(STRANGER).send(method, path, sent), 404, 'entry_not_found');
      expectRefused(await service.as(ACME_WRITER).send(method, path, sent), 404, 'version_not_found');
    },
  );

  it.each(['/v1/entries', '/v1/entries?dry_run=true', '/v1/entries/validate'])(
    'POST %s checks token, role, body, claims, ownership, then the version',
    async (path) => {
      const name = aName();
      await publish(service.as(ACME_WRITER), type, name, CLAIMS);
      const wrong = { [type]: { name }, claims: {} };
      expectChallenge(await service.post(path, wrong));
      expectChallenge(await service.post(path, '{'));
      expectRefused(await service.as(ACME_PLATFORM).post(path, wrong), 403, 'role_required');
      expectRefused(await service.as(ACME_PLATFORM).post(path, '{'), 403, 'role_required');
      const post = (body: unknown) => service.as(ACME_WRITER).post(path, body);
      expectRefused(await post('{'), 400, 'malformed_json');
      expectRefused(await post(wrong), 400, 'invalid_document');
      expectRefused(await post(aPublication(type, name, {})), 400, 'claims_required');
      expectRefused(await post(aPublication(type, name, { org: 'x' })), 400, 'claims_not_subset');
      expectRefused(await post(aPublication(type, name, { org: 'acme' })), 400, 'claims_mismatch');
      expectRefused(await post(aPublication(type, name, CLAIMS)), 409, 'version_exists');
      const accepted = await post(aPublication(type, name, CLAIMS, '1.0.1'));
      expect(accepted.status).toBe(path === '/v1/entries' ? 201 : 200);
    },
  );

  it('other methods return 405', async () => {
    const name = aName();
    await publish(service.as(ACME_WRITER), type, name, CLAIMS);
    for (const [method, below] of [
      ['DELETE', ''],
      ['PUT', ''],
      ['POST', ''],
      ['DELETE', '/claims'],
      ['PATCH', '/claims'],
      ['GET', '/status'],
      ['PUT', '/versions/1.0.0'],
      ['PATCH', '/versions/1.0.0'],
    ] as const) {
      const reply = await service.as(SUPER_ADMIN).send(method, entryAt(type, name, below), {});
      expectRefused(reply, 405, 'method_not_allowed');
    }
    expect((await anyone(service).get(entryAt(type, name))).status).toBe(200);
  });

  // File sources do not own their names: the managed source may have an entry of the same name.
  it('a name from another source may be published', async () => {
    const reply = await service
      .as(ACME_WRITER)
      .post('/v1/entries', aPublication(type, 'io.acme/filed', CLAIMS));
    expect(reply.status).toBe(201);
    expect((await service.as(ACME_WRITER).get(entryAt(type, 'io.acme/filed'))).json).toMatchObject({
      claims: CLAIMS,
    });
    await service.as(ACME_WRITER).delete(entryAt(type, 'io.acme/filed', '/versions/1.0.0'));
    expect((await service.as(ACME_WRITER).get(entryAt(type, 'io.acme/filed'))).status).toBe(404);
  });
});
