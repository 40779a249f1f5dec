import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { outcomeOf, serversIn } from '../support/answers.js';
import { auditOf } from '../support/audit.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer, type Document } from '../support/documents.js';
import { anIssuer } from '../support/issuer.js';
import { keepSecret } from '../support/secrets.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

const LIST = '/registry/all/v0.1/servers';
const ROLE = { from: '/role', to: 'role' };
const teams = (values: Document) => [{ from: '/groups', to: 'team', values }, ROLE];
const partner = anIssuer({ audience: 'partner' }).runs();
const SECRETS = ['the first client secret', 'the second client secret'].map(keepSecret);

const service = aService({ mode: 'full' })
  .source('red', { claims: { team: 'red' }, servers: [aServer('io.acme/red')] })
  .source('blue', { claims: { team: 'blue' }, servers: [aServer('io.acme/blue')] })
  .source('published', { kind: 'managed' })
  .registry('all', { sources: ['red', 'blue', 'published'] });
const corporate = (more: Document = {}): Document => ({
  name: 'corporate',
  issuerUrl: service.issuer.iss,
  audience: 'registry',
  allowPrivateIP: true,
  claims: teams({ g1: 'red' }),
  ...more,
});
const theirs = (more: Document = {}): Document => ({
  name: 'partner',
  issuerUrl: partner.iss,
  audience: 'partner',
  allowPrivateIP: true,
  ...more,
});
const reload = (...providers: Document[]) =>
  service.reload((edited) => edited.auth({ providers: () => providers }));
service.auth({ providers: () => [corporate()] }).runs();

const one = { sub: 'one', groups: ['g1'] };
const two = { sub: 'two', groups: ['g2'] };
const seen = async (claims: Document) => {
  const reply = await service.as(claims).get(LIST);
  return reply.status === 200 ? serversIn(reply) : outcomeOf(reply);
};
const events = async (name = 'auth.oauth') =>
  (await auditOf(service.as(SUPER_ADMIN), 'action=config.apply')).filter(
    ({ target }) => target.name === name,
  );

describe('reload of auth.oauth.providers', () => {
  it('admits a new team immediately, keeping the keys of the provider', async () => {
    await reload(corporate());
    expect([await seen(one), await seen(two)]).toEqual([['io.acme/red'], []]);
    const keys = service.issuer.requestsTo('jwks').length;
    const reloaded = await reload(corporate({ claims: teams({ g1: 'red', g2: 'blue' }) }));
    expect(reloaded).toEqual({ changes: ['auth.oauth.providers: changed'], waiting: [] });
    expect([await seen(one), await seen(two)]).toEqual([['io.acme/red'], ['io.acme/blue']]);
    expect(service.issuer.requestsTo('jwks')).toHaveLength(keys);
    expect((await reload(corporate({ claims: teams({ g1: 'red', g2: 'blue' }) }))).changes).toEqual([]);
  });

  it('withdraws what a mapping no longer yields immediately, even for cached tokens', async () => {
    await reload(corporate());
    expect(await seen(one)).toEqual(['io.acme/red']);
    await reload(corporate({ claims: teams({ g1: 'blue' }) }));
    expect(await seen(one)).toEqual(['io.acme/blue']);
    await reload(corporate({ claims: [ROLE] }));
    expect(await seen(one)).toEqual([]);
    await reload(corporate());
    expect(await seen(one)).toEqual(['io.acme/red']);
  });

  it('refuses the tokens of a removed provider immediately, and shows only the others', async () => {
    const token = partner.sign({ team: 'blue' });
    const ask = async () => outcomeOf(await service.bearing(token).get(LIST));
    const shown = async () => {
      const [metadata, page, docs, settings] = await Promise.all(
        ['/.well-known/oauth-protected-resource', '/docs/', '/openapi.json', '/docs/swagger-ui-init.js'].map(
          (path) => service.get(path, { Accept: '*/*' }),
        ),
      );
      return [metadata?.text, page?.headers['content-security-policy'], docs?.text, settings?.text].map(
        (text) => text?.includes(partner.url),
      );
    };
    expect([await ask(), await shown()]).toEqual(['401 token_invalid', Array(4).fill(false)]);
    await reload(corporate(), theirs());
    expect([await ask(), await ask(), await shown()]).toEqual(['200', '200', Array(4).fill(true)]);
    expect(await seen(one)).toEqual(['io.acme/red']);
    await reload(corporate());
    expect([await ask(), await shown()]).toEqual(['401 token_invalid', Array(4).fill(false)]);
    expect(await seen(one)).toEqual(['io.acme/red']);
    await reload(corporate(), theirs({ audience: 'another' }));
    expect(await ask()).toBe('401 token_invalid');
    await reload(corporate(), theirs());
    expect(await ask()).toBe('200');
    await reload(corporate());
  });

  it('checks a token again if it was being verified', async () => {
    const introspecting = theirs({ introspectionUrl: partner.introspectionUrl });
    const askDuring = async (edit: () => Promise<unknown>) => {
      let release: () => void = () => undefined;
      partner.injectFault('introspection', { after: new Promise((resolve) => (release = resolve)) });
      const asked = partner.requestsTo('introspection').length;
      const reply = service.bearing(partner.opaque({ team: 'blue' })).get(LIST);
      await within(20_000, async () =>
        expect(partner.requestsTo('introspection').length).toBeGreaterThan(asked),
      );
      await edit();
      release();
      const outcome = outcomeOf(await reply);
      partner.behave();
      return outcome;
    };
    await reload(corporate(), introspecting);
    expect(await askDuring(() => reload(corporate({ claims: [ROLE] }), introspecting))).toBe('200');
    expect(await askDuring(() => reload(corporate()))).toBe('401 token_invalid');
  });

  it('applies the new mapping to introspection responses immediately', async () => {
    const token = partner.opaque({ before: 'red', after: 'blue' });
    const teamFrom = async (from: string) => {
      const claims = [{ from, to: 'team' }];
      await reload(corporate(), theirs({ introspectionUrl: partner.introspectionUrl, claims }));
      const { json } = await service.bearing(token).get('/v1/me?claims=true');
      return (json as { claims: Document }).claims['team'];
    };
    expect(await teamFrom('/before')).toBe('red');
    expect(await teamFrom('/after')).toBe('blue');
    await reload(corporate());
  });

  it('never applies the new rules to claims of the earlier mapping', async () => {
    const publish = async (name: string, edit: () => Promise<unknown>, claims: Document) => {
      const body = JSON.stringify({ server: aServer(name), claims });
      const sent = service.issuer.sign({ sub: 'one', groups: ['g1'], role: 'writer' });
      expect((await service.bearing(sent).get(LIST)).status).toBe(200);
      const status = new Promise<number | undefined>((resolve, reject) => {
        const headers = { Authorization: `Bearer ${sent}`, 'Content-Type': 'application/json' };
        const open = request(`${service.origin}/v1/entries`, { method: 'POST', headers }, (response) =>
          resolve(response.resume().statusCode),
        ).on('error', reject);
        // The server has identified the caller once it has responded to a later request.
        open.write(
          body.slice(0, 20),
          () =>
            void seen(one)
              .then(edit)
              .then(() => open.end(body.slice(20)), reject),
        );
      });
      return status;
    };
    await reload(corporate());
    expect(await publish('io.acme/same', () => reload(corporate()), { role: 'writer' })).toBe(201);
    expect(await publish('io.acme/blue-too', () => reload(corporate()), { team: 'blue' })).toBe(400);
    const swapped = () =>
      service.reload((edited) =>
        edited.auth({
          providers: () => [corporate({ claims: teams({ g9: 'red' }) })],
          roles: { superAdmin: [{ team: 'red' }, { role: 'super-admin' }] },
        }),
      );
    expect(await publish('io.acme/swapped', swapped, { team: 'blue' })).toBe(400);
    expect(await seen({ sub: 'nine', groups: ['g9'] })).toContain('io.acme/blue');
    await service.reload((edited) =>
      edited.auth({ providers: () => [corporate()], roles: { superAdmin: [{ role: 'super-admin' }] } }),
    );
  });

  it('changes nothing when the file is invalid', async () => {
    await expect(reload(corporate({ claims: teams({ g1: 'blue' }), audience: '' }))).rejects.toThrow(
      'auth.oauth.providers[0].audience',
    );
    expect(await seen(one)).toEqual(['io.acme/red']);
    await reload(corporate({ claims: teams({ g1: 'blue' }) }));
    expect(await seen(one)).toEqual(['io.acme/blue']);
    await reload(corporate());
  });
});

it('admits a new team while publicPaths and the rules wait for a restart', async () => {
  const claims = teams({ g1: 'red', g2: 'blue' });
  const reloaded = await service.reload((edited) =>
    edited.auth({
      publicPaths: ['/v1/registries'],
      policy: { registryListing: 'readers' },
      providers: () => [corporate({ claims })],
    }),
  );
  expect(reloaded).toEqual({
    changes: ['auth.oauth.providers: changed'],
    waiting: ['auth.oauth.publicPaths', 'auth.authz'],
  });
  expect(await seen(two)).toEqual(['io.acme/blue']);
  expect(outcomeOf(await service.as(two).get('/v1/registries'))).toBe('403 role_required');
  await service.reload((edited) =>
    edited.auth({ publicPaths: [], policy: {}, providers: () => [corporate()] }),
  );
  expect(await seen(two)).toEqual([]);
});

describe('reload of auth.oauth.blocked', () => {
  it('refuses a cached token immediately, and accepts it again immediately', async () => {
    const block = (...blocked: Document[]) => service.reload((edited) => edited.auth({ blocked }));
    expect(await seen(one)).toEqual(['io.acme/red']);
    expect((await block({ subject: 'one' })).changes).toEqual(['auth.oauth.blocked: changed']);
    expect([await seen(one), await seen(two)]).toEqual(['401 caller_blocked', []]);
    await block({ issuer: partner.iss, subject: 'one' });
    expect(await seen(one)).toEqual(['io.acme/red']);
    await block();
    expect((await events())[0]?.change).toMatchObject({
      before: { blocked: [{ subject: 'one' }] },
      after: { blocked: [] },
    });
  });
});

describe('audit of auth.oauth', () => {
  it('records each change once, with before and after but without secrets', async () => {
    const client = (secret: string | undefined) =>
      corporate({ clientId: 'registry', clientSecretFile: service.write('client-secret', String(secret)) });
    await reload(client(SECRETS[0]));
    const before = await events();
    const replica = service.replica();
    await replica.start();
    await reload(client(SECRETS[0]));
    expect(await events()).toHaveLength(before.length);
    expect(before[0]).toMatchObject({
      actor: { subject: 'configuration' },
      target: { type: 'configuration', name: 'auth.oauth' },
      change: {
        before: { providers: [{ name: 'corporate', claims: teams({ g1: 'red' }) }] },
        after: { providers: [{ name: 'corporate', clientId: 'registry', clientSecret: 'changed' }] },
      },
    });
    expect(before[0]).not.toHaveProperty('waiting');
    // The first start.
    expect(before.at(-1)?.change).toMatchObject({ after: { providers: [{ name: 'corporate' }] } });
    expect(before.at(-1)?.change).not.toHaveProperty('before');
    // The path is the same, the content is different.
    client(SECRETS[1]);
    expect([(await service.reload()).changes, (await replica.reload()).changes]).toEqual([
      ['auth.oauth.providers: changed'],
      ['auth.oauth.providers: changed'],
    ]);
    await replica.stop();
    const [event, ...earlier] = await events();
    expect(earlier).toHaveLength(before.length);
    expect(event?.change).toMatchObject({
      before: { providers: [{ clientSecret: 'set' }] },
      after: { providers: [{ clientSecret: 'changed' }] },
    });
    await service.restart();
    expect(await events()).toHaveLength(earlier.length + 1);
    await service.restart((edited) => edited.auth({ providers: () => [corporate()] }));
    expect((await events())[0]?.change?.after).not.toHaveProperty('providers.0.clientSecret');
  });

  it('shows both the waiting settings and those in force', async () => {
    const metadata = async () => (await service.get('/.well-known/oauth-protected-resource')).json;
    const resource = 'https://registry.example.com';
    const { changes, waiting } = await service.reload((edited) =>
      edited.auth({
        resourceUrl: 'https://new.example.com',
        providers: () => [corporate({ claims: teams({ g1: 'blue' }) })],
      }),
    );
    expect([changes, waiting]).toEqual([['auth.oauth.providers: changed'], ['auth.oauth.resourceUrl']]);
    expect(await metadata()).toMatchObject({ resource });
    expect(await seen(one)).toEqual(['io.acme/blue']);
    const [event, ...earlier] = await events();
    expect(event).toMatchObject({
      waiting: ['auth.oauth.resourceUrl'],
      change: { before: { resourceUrl: resource }, after: { resourceUrl: 'https://new.example.com' } },
    });
    await service.restart();
    expect(await metadata()).toMatchObject({ resource: 'https://new.example.com' });
    expect(await events()).toHaveLength(earlier.length + 1);
  });
});
