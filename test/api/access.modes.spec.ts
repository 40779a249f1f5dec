import { beforeAll, describe, expect, it } from 'vitest';
import { outcomeOf, openRegistriesIn, registriesIn, serversIn, sourcesIn } from '../support/answers.js';
import {
  ACME_ADMIN,
  ACME_DATA,
  CONTOSO_ADMIN,
  CONTOSO_READER,
  NOBODY,
  SUPER_ADMIN,
} from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import type { Sender } from '../support/http.js';
import { anIssuer } from '../support/issuer.js';
import { aService } from '../support/service.js';

const MODES = ['anonymous', 'auth-only', 'full'] as const;
type Mode = (typeof MODES)[number];

const LIST = '/registry/acme/v0.1/servers';
const WARNING = 'Authorization not configured, per-entry claims filtering disabled (auth-only mode)';
const ALL_ROLES = ['superAdmin', 'manageSources', 'manageRegistries', 'manageEntries'];

describe('the same catalog in each auth mode', () => {
  const folder = aFolder();
  const file = { path: folder.catalogue('made', [aServer('io.acme/made')]) };
  const syncPolicy = { interval: '1h' };
  const inMode = (mode: Mode) =>
    aService({ mode })
      .source('labelled', { claims: { org: 'acme', team: 'data' }, servers: [aServer('io.acme/labelled')] })
      .source('plain', { servers: [aServer('io.acme/plain')] })
      .registry('acme', { sources: ['labelled', 'plain'], claims: { org: 'acme' } })
      .configuration({ adminFileRoot: folder.path })
      .runs();
  const services = { anonymous: inMode('anonymous'), 'auth-only': inMode('auth-only'), full: inMode('full') };

  type Row = [
    what: string,
    who: object,
    ask: (caller: Sender) => Promise<unknown>,
    answers: Record<Mode, unknown>,
  ];
  const outcome = (method: string, path: string, body?: unknown) => async (caller: Sender) =>
    outcomeOf(await caller.send(method, path, { body }));

  const rows: Row[] = [
    ['the list of an open registry', ACME_DATA, async (caller) => serversIn(await caller.get(LIST)),
      { anonymous: ['io.acme/labelled', 'io.acme/plain'], 'auth-only': ['io.acme/labelled', 'io.acme/plain'], full: ['io.acme/labelled'] }],
    ['the gate', CONTOSO_READER, outcome('GET', LIST),
      { anonymous: '200', 'auth-only': '200', full: '403 registry_forbidden' }],
    ['the list of registries', CONTOSO_READER, async (caller) => openRegistriesIn(await caller.get('/registry')),
      { anonymous: ['acme'], 'auth-only': ['acme'], full: [] }],
    ['an entry of another team', { org: 'acme', team: 'web' }, outcome('GET', `${LIST}/io.acme%2Flabelled/versions`),
      { anonymous: '200', 'auth-only': '200', full: '404 entry_not_found' }],
    ['an entry without claims', ACME_DATA, outcome('GET', `${LIST}/io.acme%2Fplain/versions`),
      { anonymous: '200', 'auth-only': '200', full: '404 entry_not_found' }],
    ['an entry without claims, for a super-admin', SUPER_ADMIN, outcome('GET', `${LIST}/io.acme%2Fplain/versions`),
      { anonymous: '200', 'auth-only': '200', full: '200' }],
    ['listing sources without a role', NOBODY, outcome('GET', '/v1/sources'),
      { anonymous: '200', 'auth-only': '200', full: '403 role_required' }],
    ['listing registries without a role', NOBODY, outcome('GET', '/v1/registries'),
      { anonymous: '200', 'auth-only': '200', full: '403 role_required' }],
    ['listing sources as another organization', CONTOSO_ADMIN, async (caller) => sourcesIn(await caller.get('/v1/sources')).filter((name) => !name.startsWith('made')),
      { anonymous: ['labelled', 'plain'], 'auth-only': ['labelled', 'plain'], full: ['plain'] }],
    ['listing registries as another organization', CONTOSO_ADMIN, async (caller) => registriesIn(await caller.get('/v1/registries')).filter((name) => !name.startsWith('made')),
      { anonymous: ['acme'], 'auth-only': ['acme'], full: [] }],
    ['a source of another organization', CONTOSO_ADMIN, outcome('GET', '/v1/sources/labelled'),
      { anonymous: '200', 'auth-only': '200', full: '404 source_not_found' }],
    ['the entries of a source of another organization', CONTOSO_ADMIN, outcome('GET', '/v1/sources/labelled/entries'),
      { anonymous: '200', 'auth-only': '200', full: '404 source_not_found' }],
    ['a registry of another organization', CONTOSO_ADMIN, outcome('GET', '/v1/registries/acme'),
      { anonymous: '200', 'auth-only': '200', full: '404 registry_not_found' }],
    ['the entries of a registry of another organization', CONTOSO_ADMIN, outcome('GET', '/v1/registries/acme/entries'),
      { anonymous: '200', 'auth-only': '200', full: '404 registry_not_found' }],
    ['syncing a source of another organization', CONTOSO_ADMIN, outcome('POST', '/v1/sources/labelled/sync'),
      { anonymous: '202', 'auth-only': '202', full: '404 source_not_found' }],
    ['creating a source without a role', ACME_DATA, outcome('PUT', '/v1/sources/made-1', { file, syncPolicy, claims: { org: 'acme' } }),
      { anonymous: '201', 'auth-only': '201', full: '403 role_required' }],
    ['creating a source with claims the caller covers', ACME_ADMIN, outcome('PUT', '/v1/sources/made-2', { file, syncPolicy, claims: { org: 'acme' } }),
      { anonymous: '201', 'auth-only': '201', full: '201' }],
    ['creating a source with claims beyond the token’s', ACME_ADMIN, outcome('PUT', '/v1/sources/made-3', { file, syncPolicy, claims: { org: 'contoso' } }),
      { anonymous: '201', 'auth-only': '201', full: '400 claims_not_subset' }],
    ['creating a registry with claims beyond the token’s', ACME_ADMIN, outcome('PUT', '/v1/registries/made-4', { sources: ['plain'], claims: { org: 'contoso' } }),
      { anonymous: '201', 'auth-only': '201', full: '400 claims_not_subset' }],
    ['changing a registry of the configuration file', SUPER_ADMIN, outcome('PUT', '/v1/registries/acme', { sources: ['plain'] }),
      { anonymous: '403 config_managed', 'auth-only': '403 config_managed', full: '403 config_managed' }],
    ['an invalid body', SUPER_ADMIN, outcome('PUT', '/v1/registries/made-5', { sources: [] }),
      { anonymous: '400 invalid_body', 'auth-only': '400 invalid_body', full: '400 invalid_body' }],
    ['GET /v1/me', ACME_DATA, outcome('GET', '/v1/me'),
      { anonymous: '401 anonymous_mode', 'auth-only': '200', full: '200' }],
    ['an unknown registry', SUPER_ADMIN, outcome('GET', '/registry/nowhere/v0.1/servers'),
      { anonymous: '404 registry_not_found', 'auth-only': '404 registry_not_found', full: '404 registry_not_found' }],
  ]; // oxfmt-ignore
  const cases = rows.flatMap(([what, who, ask, answers]) =>
    MODES.map((mode) => ({ mode, what, who, ask, answer: answers[mode] })),
  );

  it.each(cases)('$mode: $what as $who returns $answer', async ({ mode, who, ask, answer }) => {
    const service = services[mode];
    expect(await ask(mode === 'anonymous' ? service : service.as({ ...who }))).toEqual(answer);
  });

  const TOKENLESS = [
    LIST,
    '/registry',
    '/v1/sources',
    '/v1/registries',
    '/v1/sources/plain',
    '/v1/registries/acme/entries',
  ];

  it.each(TOKENLESS)('anonymous: %s ignores the token', async (path) => {
    const plain = await services.anonymous.get(path);
    const garbage = await services.anonymous.get(path, { Authorization: 'Bearer no.such.token' });
    expect([plain.status, garbage.status]).toEqual([200, 200]);
  });

  it.each(TOKENLESS.flatMap((path) => (['auth-only', 'full'] as const).map((mode) => ({ mode, path }))))(
    '$mode: $path requires a valid token',
    async ({ mode, path }) => {
      const service = services[mode];
      expect(outcomeOf(await service.get(path))).toBe('401 token_missing');
      expect(outcomeOf(await service.bearing('no.such.token').get(path))).toBe('401 token_invalid');
      expect(outcomeOf(await service.as(SUPER_ADMIN).get(path))).toBe('200');
    },
  );

  it.each([NOBODY, SUPER_ADMIN, CONTOSO_READER])('auth-only: %j has every role', async (caller) => {
    const reply = await services['auth-only'].as(caller).get('/v1/me');
    expect({ status: reply.status, body: reply.json as unknown }).toEqual({
      status: 200,
      body: { subject: caller.sub, roles: ALL_ROLES },
    });
  });

  it('full: role rules decide the roles', async () => {
    expect((await services.full.as(CONTOSO_READER).get('/v1/me')).json).toEqual({
      subject: 'cleo',
      roles: [],
    });
    expect((await services.full.as(ACME_ADMIN).get('/v1/me')).json).toEqual({
      subject: 'ada',
      roles: ['manageSources', 'manageRegistries'],
    });
  });

  it('full: caches keep the response about one caller from others', async () => {
    const { headers } = await services.full.as(ACME_ADMIN).get('/v1/me');
    expect(headers).toMatchObject({ 'cache-control': 'private, no-cache', vary: 'Authorization, Origin' });
    const known = { 'If-None-Match': String(headers.etag) };
    expect((await services.full.as(ACME_ADMIN).get('/v1/me', known)).status).toBe(304);
    expect((await services.full.as(CONTOSO_READER).get('/v1/me', known)).status).toBe(200);
  });

  it('auth-only: all callers get the same bytes, regardless of claims', async () => {
    const replies = await Promise.all(
      [NOBODY, SUPER_ADMIN, ACME_DATA].map((caller) => services['auth-only'].as(caller).get(LIST)),
    );
    expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
  });

  it.each(MODES)('%s: only auth-only mode logs a warning at start', (mode) => {
    const warnings = services[mode].logs().filter(({ msg }) => msg.includes(WARNING));
    expect(warnings.map(({ level }) => level)).toEqual(mode === 'auth-only' ? ['warn'] : []);
  });
});

describe('a configuration without auth.mode', () => {
  const issuer = anIssuer().runs();
  const service = aService().source('tools', { servers: [aServer('io.acme/a')] });
  beforeAll(() => {
    const provider = { name: 'own', issuerUrl: issuer.iss, audience: issuer.audience, allowPrivateIP: true };
    service.configuration({
      auth: { oauth: { resourceUrl: 'https://registry.example.com', providers: [provider] } },
    });
  });
  service.registry('acme', { sources: ['tools'] }).runs();

  it('defaults to oauth', async () => {
    expect(outcomeOf(await service.get(LIST))).toBe('401 token_missing');
    expect(outcomeOf(await service.bearing(issuer.sign(NOBODY)).get(LIST))).toBe('200');
  });
});
