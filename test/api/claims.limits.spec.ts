import { beforeAll, describe, expect, it } from 'vitest';
import { aServer } from '../support/documents.js';
import { expectRefused } from '../support/matchers.js';
import { aService } from '../support/service.js';

/** reference/limits: a body holds at most this many claim values. */
const MOST = 1_000;

const valuesOf = (count: number, prefix = 'v') => Array.from({ length: count }, (_, n) => `${prefix}${n}`);
/** Claims with this many values in all: a string, and two lists. */
const claimsOf = (count: number) => ({
  one: 'v',
  two: valuesOf(Math.floor((count - 1) / 2)),
  three: valuesOf(Math.ceil((count - 1) / 2), 'w'),
});

describe('the claim values in a body', () => {
  const service = aService()
    .source('published', { kind: 'managed' })
    .registry('main', { sources: ['published'], publishClaims: { org: 'acme' } })
    .configuration({ adminOpenAccess: true })
    .runs();
  const at = '/v1/entries/server/io.acme%2Frelabelled/claims';
  beforeAll(async () => {
    await service.post('/v1/entries', { server: aServer('io.acme/relabelled') });
  });

  const file = { url: 'http://127.0.0.1:9/catalogue.json' };
  const source = { file, syncPolicy: { interval: '365d' } };
  const sources = ['published'];
  const publication = (name: string, count: number) => ({
    server: aServer(`io.acme/${name}-${count}`),
    claims: claimsOf(count),
  });
  const rules = (count: number) => [
    { include: ['io.acme/*'], claims: claimsOf(count - 3) },
    { include: ['io.other/*'], claims: claimsOf(3) },
  ];
  const held = (count: number) => ({
    claims: { ...claimsOf(count - 2), nested: { roles: ['a', { b: 1 }] } },
  });
  const asked = { registry: 'main', action: 'publish' };

  it.each<[string, string, string, (count: number) => object, number]>([
    ['of a source', 'PUT', '/v1/sources/made', (count) => ({ ...source, claims: claimsOf(count) }), 201],
    ['of a registry', 'PUT', '/v1/registries/made', (count) => ({ sources, claims: claimsOf(count) }), 201],
    ['for callers without a token', 'PUT', '/v1/registries/opened', (count) => ({ sources, anonymous: { claims: claimsOf(count) } }), 201],
    ['for publishing, and of the registry', 'PUT', '/v1/registries/publishing', (count) => ({ sources, claims: claimsOf(500), publishClaims: claimsOf(count - 500) }), 201],
    ['of a publication', 'POST', '/v1/entries', (count) => publication('published', count), 201],
    ['of a dry run', 'POST', '/v1/entries?dry_run=true', (count) => publication('dry', count), 200],
    ['of a validation', 'POST', '/v1/entries/validate', (count) => publication('validated', count), 200],
    ['of an entry', 'PUT', at, (count) => ({ claims: claimsOf(count) }), 204],
    ['to explain', 'POST', '/v1/access/explain', (count) => ({ ...asked, claims: claimsOf(count) }), 200],
    ['of an explained caller', 'POST', '/v1/access/explain', (count) => ({ ...asked, as: held(count) }), 200],
    ['of both', 'POST', '/v1/access/explain', (count) => ({ ...asked, claims: claimsOf(400), as: held(count - 400) }), 200],
    ['of a previewed caller', 'POST', '/v1/access/preview', (count) => ({ registry: 'main', as: held(count) }), 200],
  ])('%s are at most 1,000: %s %s', async (_, method, path, body, status) => {
    expectRefused(await service.send(method, path, { body: body(MOST + 1) }), 400, 'too_many_claims');
    expect((await service.send(method, path, { body: body(MOST) })).status).toBe(status);
  }); // oxfmt-ignore

  it('include those of keys and reserved names', async () => {
    const key = (name: string, count: number) => ({ name, secretFile: '/none', claims: claimsOf(count) });
    const keys = (count: number) => ({ sources, keys: [key('a', 500), key('b', count - 500)] });
    expectRefused(await service.put('/v1/registries/keyed', keys(MOST + 1)), 400, 'too_many_claims');
    expectRefused(await service.put('/v1/registries/keyed', keys(MOST)), 400, 'path_not_allowed');
    const managed = (count: number) => ({ managed: { names: rules(count) } });
    expectRefused(await service.put('/v1/sources/second', managed(MOST + 1)), 400, 'too_many_claims');
    expectRefused(await service.put('/v1/sources/second', managed(MOST)), 409, 'managed_source_exists');
  });

  it('are counted before they are validated', async () => {
    const claims = { ...claimsOf(MOST), '': [1] };
    expectRefused(await service.put(at, { claims }), 400, 'too_many_claims');
    expectRefused(await service.put(at, { claims: { '': [1] } }), 400, 'invalid_body');
  });

  it('do not include values in documents', async () => {
    const more = { claims: claimsOf(2_000), _meta: { 'com.example/x': { claims: claimsOf(2_000) } } };
    const body = { server: aServer('io.acme/documented', '1.0.0', more), claims: { org: 'acme' } };
    expect((await service.post('/v1/entries/validate', body)).status).toBe(200);
  });
});

describe('a list of maps in a body', () => {
  const service = aService().source('catalog', { servers: [] }).runs();

  it('is refused for its length, regardless of its items', async () => {
    const keys = new Array<object>(10_000).fill({});
    const reply = await service.put('/v1/registries/keyed', { sources: ['catalog'], keys });
    expectRefused(reply, 400, 'invalid_body');
    expect((reply.json as { details: string[] }).details[0]).toBe('keys: must not have more than 20 items');
    const names = new Array<object>(10_000).fill({});
    const refused = await service.put('/v1/sources/managed', { managed: { names } });
    expect((refused.json as { details: string[] }).details[0]).toBe(
      'managed.names: must not have more than 200 items',
    );
  });
});
