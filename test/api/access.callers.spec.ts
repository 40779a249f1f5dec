import { writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { check, type AccessChecks } from '../../dist/cli/check.js';
import { explain, type ExplainOptions } from '../../dist/cli/explain.js';
import { authSection } from '../support/auth-section.js';
import { ACME_ADMIN, CONTOSO_ADMIN, SUPER_ADMIN } from '../support/callers.js';
import { printed } from '../support/cli.js';
import { aCatalogue, aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { expectRefused } from '../support/matchers.js';
import { aKey } from '../support/registry-keys.js';
import { aService } from '../support/service.js';

const folder = aFolder();
const KEYS = { reader: aKey(), expired: aKey(), hidden: aKey() };
for (const [name, key] of Object.entries(KEYS)) folder.write(name, key);
const key = (name: keyof typeof KEYS, claims: Record<string, string>, expires?: string) => ({
  name,
  secretFile: folder.file(name),
  claims,
  ...(expires === undefined ? {} : { expires }),
});

const AUTH = {
  mode: 'full',
  blocked: [{ subject: 'mallory' }],
  publicPaths: ['/registry/public/*'],
  everyProvider: {
    claims: [
      { from: '/role', to: 'role' },
      { from: '/org', to: 'org' },
      { from: '/groups', to: 'team', values: { g1: 'platform', g2: 'data' } },
    ],
  },
} as const;
const ACME = { org: 'acme' };
const SOURCES = [
  { name: 'team', claims: { org: 'acme', team: 'platform' }, server: 'io.acme/deploy' },
  { name: 'catalog', claims: ACME, server: 'io.acme/mail' },
];
const sources = ['team', 'catalog'];
const REGISTRIES = [
  { name: 'acme', sources, claims: ACME, keys: [key('reader', ACME), key('expired', ACME, '2026-01-01')] },
  { name: 'open', sources, claims: ACME, anonymous: { claims: ACME } },
  { name: 'public', sources },
  { name: 'hidden', sources, claims: { org: 'contoso' }, anonymous: { claims: { org: 'contoso' } }, keys: [key('hidden', { org: 'contoso' })] },
]; // oxfmt-ignore

const service = aService({ ...AUTH, publicPaths: [...AUTH.publicPaths], blocked: [...AUTH.blocked] });
for (const { name, claims, server } of SOURCES) service.source(name, { claims, servers: [aServer(server)] });
for (const { name, ...registry } of REGISTRIES) service.registry(name, registry);
service.runs();

const configuration = () => folder.file('registry.yaml');
beforeAll(async () => {
  for (const { name } of SOURCES) await service.synced(name);
  for (const { name, server } of SOURCES)
    folder.write(`${name}.json`, JSON.stringify(aCatalogue([aServer(server)])));
  const auth = authSection(
    { ...AUTH, publicPaths: [...AUTH.publicPaths], blocked: [...AUTH.blocked] },
    service,
  );
  const syncPolicy = { interval: '1h' };
  const declared = SOURCES.map(({ name, claims }) => ({
    name,
    claims,
    syncPolicy,
    file: { path: `${name}.json` },
  }));
  writeFileSync(configuration(), stringify({ auth, sources: declared, registries: REGISTRIES }));
});

type Form = Record<string, unknown>;
const token = (claims: Form) => ({ token: { provider: 'corporate', claims } });
const PIA = { sub: 'pia', org: 'acme', groups: ['g1', 'g3'] };

interface Asked {
  readonly registry?: string;
  readonly entry?: string;
}

const ask = (asker: Form, as: Form, { registry = 'acme', entry = 'io.acme/deploy' }: Asked = {}, more = {}) =>
  service
    .as(asker)
    .post('/v1/access/explain', { registry, entry: { type: 'server', name: entry }, as, ...more });

function optionsOf({ token: raw, claims, ...form }: Form): Partial<ExplainOptions> {
  const held = raw as { provider: string; claims: Form } | undefined;
  return {
    ...form,
    ...(claims ? { claims: JSON.stringify(claims) } : {}),
    ...(held ? { provider: held.provider, tokenClaims: JSON.stringify(held.claims) } : {}),
  };
}

const offline = (
  options: Partial<ExplainOptions>,
  { registry = 'acme', entry = 'io.acme/deploy' }: Asked = {},
) => printed(() => explain({ config: configuration(), registry, entry, ...options }));

/** Sends the request that a caller's form represents. */
async function requested(
  form: Form,
  { registry = 'acme', entry = 'io.acme/deploy' }: Asked,
): Promise<number> {
  const path = (prefix: string) =>
    `/registry/${registry}${prefix}/v0.1/servers/${encodeURIComponent(entry)}/versions/latest`;
  const held = form['token'] as { claims: Form } | undefined;
  const name = form['key'] as keyof typeof KEYS | undefined;
  if (held) return (await service.as(held.claims).get(path(''))).status;
  return (await service.get(path(name ? `/k/${KEYS[name]}` : ''))).status;
}

describe('a caller is identified as in a request', () => {
  const mail = { entry: 'io.acme/mail' };
  it.each<[string, Form, Asked, string, object]>([
    ['a token with mapped groups', token(PIA), {}, '200', { outcome: 'passed' }],
    ['a token without them', token({ ...PIA, groups: ['g2'] }), {}, '404 entry_not_found', { outcome: 'passed' }],
    ['a token whose group is not mapped', token({ ...PIA, groups: ['platform'] }), {}, '404 entry_not_found', {}],
    ['a token that has mapped names', token({ ...PIA, groups: [], team: 'platform' }), {}, '404 entry_not_found', {}],
    ['a blocked caller', token({ ...PIA, sub: 'mallory' }), {}, '401 caller_blocked', { outcome: 'refused' }],
    ['a token without subject', token({ org: 'acme', groups: 'g1', sub: '' }), {}, '401 no_subject', { outcome: 'refused' }],
    ['a client', token({ ...PIA, sub: '', client_id: 'ci' }), {}, '200', { outcome: 'passed' }],
    ['an ID token', token({ ...PIA, typ: 'ID' }), {}, '401 token_invalid', { because: 'the token is an ID token' }],
    ['a token for others', token({ ...PIA, aud: 'other' }), {}, '401 token_invalid', { because: 'the audience does not match' }],
    ['a token of another issuer', token({ ...PIA, iss: 'https://other.example' }), {}, '401 token_invalid', { because: 'the issuer does not match' }],
    ['a token that omits its groups', token({ sub: 'pia', org: 'acme', _claim_names: { groups: 'src1' } }), {}, '401 claims_incomplete', { outcome: 'refused' }],
    ['an anonymous caller, where tokens are required', { anonymous: true }, mail, '401 token_missing', { outcome: 'refused' }],
    ['an anonymous caller in an open registry', { anonymous: true }, { registry: 'open', ...mail }, '200', { because: 'anonymous' }],
    ['an anonymous caller with too few claims', { anonymous: true }, { registry: 'open' }, '404 entry_not_found', { because: 'anonymous' }],
    ['an anonymous caller on a public path', { anonymous: true }, { registry: 'public', ...mail }, '404 entry_not_found', { because: 'publicPaths' }],
    ['a key', { key: 'reader' }, mail, '200', { because: 'key' }],
    ['a key with too few claims', { key: 'reader' }, {}, '404 entry_not_found', { because: 'key' }],
    ['a key of another registry', { key: 'reader' }, { registry: 'open', ...mail }, '404 registry_not_found', { outcome: 'refused' }],
    ['an expired key', { key: 'expired' }, mail, '404 registry_not_found', { because: 'the key has expired' }],
  ])('given as %s', async (_, form, asked, answer, step) => {
    const reply = await ask(SUPER_ADMIN, form, asked);
    expect(reply.status).toBe(200);
    const explained = reply.json as { answer: { status: number; code?: string }; decision: string; steps: object[] };
    const { status, code } = explained.answer;
    expect([status, code].filter(Boolean).join(' ')).toBe(answer);
    expect(explained.steps[0]).toMatchObject({ step: 'token', ...step });
    const { code: exit, output } = await offline(optionsOf(form), asked);
    expect(output).toMatch(new RegExp(`^${explained.decision} \\(${answer}\\)`));
    expect(output).toContain('\n  token ');
    expect(exit).toBe(status === 200 ? 0 : 1);
    expect(await requested(form, asked)).toBe(status);
  }); // oxfmt-ignore
});

describe('explaining access for another caller', () => {
  it('refuses a blocked caller even with mapped claims', async () => {
    const mallory = { claims: { sub: 'mallory', org: 'acme', team: 'platform' } };
    expect((await ask(SUPER_ADMIN, mallory)).json).toMatchObject({ answer: { code: 'caller_blocked' } });
    expect((await offline(optionsOf(mallory))).output).toMatch(/^refused \(401 caller_blocked\)/);
    const pia = { claims: { ...mallory.claims, sub: 'pia' } };
    expect((await ask(SUPER_ADMIN, pia)).json).toMatchObject({ answer: { status: 200 } });
  });

  it('reports the other steps of a blocked caller', async () => {
    const { steps, missing } = (await ask(SUPER_ADMIN, token({ ...PIA, sub: 'mallory', groups: [] })))
      .json as {
      steps: { step: string; outcome: string }[];
      missing?: object;
    };
    expect(steps.map(({ step, outcome }) => `${step} ${outcome}`)).toContain('entry refused');
    expect(missing).toBeUndefined();
  });

  it('allows callers without a token to read only', async () => {
    for (const as of [{ anonymous: true }, { key: 'reader' }])
      for (const action of ['manage', 'publish'])
        for (const registry of ['acme', 'open', 'public'])
          expect((await ask(SUPER_ADMIN, as, { registry }, { action })).json).toMatchObject({
            answer: { status: 401, code: 'token_missing' },
          });
  });

  it('accepts the same callers in a preview', async () => {
    const preview = async (as: Form, registry = 'acme') =>
      (await service.as(SUPER_ADMIN).post('/v1/access/preview', { registry, as })).json;
    const counts = (server: number) => ({ server, skill: 0, plugin: 0 });
    expect(await preview(token(PIA))).toMatchObject({ answer: { status: 200 }, counts: counts(2) });
    expect(await preview({ key: 'reader' })).toMatchObject({ counts: counts(1) });
    expect(await preview({ anonymous: true }, 'open')).toMatchObject({ counts: counts(1) });
    expect(await preview({ anonymous: true })).toEqual({
      answer: { status: 401, code: 'token_missing' },
      counts: counts(0),
      page: null,
    });
    expect(await preview(token({ ...PIA, sub: 'mallory' }))).toMatchObject({
      answer: { status: 401, code: 'caller_blocked' },
      page: null,
    });
  });
});

describe('what a manager learns about other callers', () => {
  it('is the same for a registry of another organization and a missing one', async () => {
    for (const as of [{ anonymous: true }, { key: 'reader' }, token(PIA)]) {
      const about = async (registry: string) => (await ask(ACME_ADMIN, as, { registry })).json;
      expect(await about('hidden')).toEqual(await about('missing'));
      expect(await about('hidden')).not.toEqual(await about('open'));
    }
    expect((await ask(ACME_ADMIN, { key: 'reader' }, { registry: 'hidden' })).json).toMatchObject({
      answer: { status: 404, code: 'registry_not_found' },
      decision: 'absent',
      steps: [{ step: 'token', outcome: 'unknown_to_you', code: 'registry_not_found' }],
    });
    expect((await ask(CONTOSO_ADMIN, { anonymous: true }, { registry: 'hidden' })).json).toMatchObject({
      steps: expect.arrayContaining([{ step: 'token', outcome: 'passed', because: 'anonymous' }]),
    });
  });

  it('does not include the keys of others', async () => {
    const answers = ['hidden', 'none'].map(async (name) => {
      const reply = await ask(ACME_ADMIN, { key: name });
      expectRefused(reply, 400, 'invalid_body');
      return reply.text.replaceAll(/"requestId":"[^"]*"/g, '');
    });
    const [hidden, none] = await Promise.all(answers);
    expect(hidden).toBe(none);
    expect((await ask(SUPER_ADMIN, { key: 'hidden' })).json).toMatchObject({ decision: 'hidden' });
    expect((await ask(ACME_ADMIN, { key: 'reader' })).status).toBe(200);
    expectRefused(await ask(SUPER_ADMIN, { key: 'none' }), 400, 'invalid_body');
    expectRefused(await ask(PIA, { key: 'reader' }), 403, 'role_required');
  });

  it('does not include provider names, nor what a mapping reads', async () => {
    const unknown = { token: { provider: 'elsewhere', claims: {} } };
    const [byManager, byRoot] = [await ask(ACME_ADMIN, unknown), await ask(SUPER_ADMIN, unknown)];
    for (const reply of [byManager, byRoot]) expectRefused(reply, 400, 'invalid_body');
    expect(byManager.text).toContain('as.token.provider: is not the name of a provider');
    expect(byRoot.text).toContain('as.token.provider: must be one of corporate');
    const hints = async (asker: Form) =>
      ((await ask(asker, token({ ...PIA, realm_access: { roles: ['x'] } }))).json as { hints: string[] })
        .hints;
    const unread = 'The mapping of provider corporate does not read "realm_access.roles"';
    expect(await hints(ACME_ADMIN)).not.toContain(unread);
    expect(await hints(SUPER_ADMIN)).toContain(unread);
  });
});

describe('a caller in a body', () => {
  it.each<[object]>([
    [{}],
    [{ anonymous: false }],
    [{ anonymous: true, key: 'reader' }],
    [{ key: '' }],
    [{ token: { claims: {} } }],
    [{ token: { provider: 'corporate', claims: [] } }],
    [{ token: { provider: 'corporate', claims: { x: 'x'.repeat(65 * 1_024) } } }],
    [{ tokenFile: '/etc/passwd' }],
  ])('%j is refused', async (as) => {
    expectRefused(await ask(SUPER_ADMIN, as as Form), 400, 'invalid_body');
    expectRefused(await service.as(SUPER_ADMIN).post('/v1/access/preview', { registry: 'acme', as }), 400, 'invalid_body');
  }); // oxfmt-ignore

  it('holds at most 1,000 values in its token', async () => {
    const groups = (count: number) => token({ sub: 'pia', groups: Array.from({ length: count }, String) });
    expectRefused(await ask(SUPER_ADMIN, groups(1_000)), 400, 'too_many_claims');
    expect((await ask(SUPER_ADMIN, groups(999))).status).toBe(200);
  });
});

describe('the caller of the explain command', () => {
  it('may come from a token file', async () => {
    folder.write('token', `${service.issuer.sign(PIA)}\n`);
    expect(await offline({ tokenFile: folder.file('token') })).toMatchObject({ code: 0 });
    folder.write('expired-token', service.issuer.sign({ ...PIA, exp: 1, groups: [] }));
    expect(await offline({ tokenFile: folder.file('expired-token') })).toMatchObject({ code: 1 });
  });

  it('needs no token in anonymous mode', async () => {
    const file = folder.write(
      'anonymous.yaml',
      stringify({ auth: { mode: 'anonymous' }, sources: [], registries: [] }),
    );
    const { output } = await offline({ config: file, anonymous: true });
    expect(output).toContain('\n  token     skipped  mode\n');
    expect(await offline({ config: file, provider: 'corporate', tokenClaims: '{}' })).toMatchObject({
      code: 2,
    });
  });

  it('has hints about the mapping', async () => {
    const raw = await offline({ claims: '{"sub":"pia","aud":"registry","groups":["g1"]}' });
    expect(raw.output).toContain(
      'hint: "aud": no mapping yields these claims; pass the token\'s own claims as `token`',
    );
    const unread = optionsOf(token({ ...PIA, realm_access: { roles: ['x'] }, email: 'a@b' }));
    expect((await offline(unread)).output).toContain(
      'hint: The mapping of provider corporate does not read "realm_access.roles"\n',
    );
    expect((await offline(optionsOf(token(PIA)))).output).not.toContain('hint:');
  });

  it.each<[string, () => Partial<ExplainOptions>]>([
    ['exactly one', () => ({})],
    ['exactly one', () => ({ anonymous: true, key: 'reader' })],
    ['exactly one', () => ({ claims: '{}', provider: 'corporate' })],
    ['together', () => ({ provider: 'corporate' })],
    ['together', () => ({ tokenClaims: '{}' })],
    ['must be a JSON object', () => ({ provider: 'corporate', tokenClaims: '[]' })],
    ['must be one of corporate', () => ({ provider: 'other', tokenClaims: '{}' })],
    ['--key is not the name of a registry key', () => ({ key: 'none' })],
    ['cannot be read', () => ({ tokenFile: folder.file('nowhere') })],
    ['does not contain a JWT', () => ({ tokenFile: folder.file('reader') })],
    ['no provider is configured for the token', () => tokenFile({ iss: 'https://other.example' })],
    ['no provider of this issuer accepts the token', () => tokenFile({ aud: 'other' })],
  ])('is refused with exit code 2: %s', async (problem, options) => {
    const { code, output } = await offline(options());
    expect(output).toContain(problem);
    expect(code).toBe(2);
  });

  function tokenFile(claims: Form): { tokenFile: string } {
    folder.write('other-token', service.issuer.sign({ ...PIA, ...claims }));
    return { tokenFile: folder.file('other-token') };
  }
});

describe('the callers of check --access', () => {
  const run = (expectations: object[], checks: AccessChecks = {}) => {
    folder.write('access.yaml', stringify(expectations));
    return printed(() => check(configuration(), {}, { access: folder.file('access.yaml'), ...checks }));
  };
  const both = { registry: 'acme', enters: true, sees: ['io.acme/deploy', 'io.acme/mail'] };
  const mail = { enters: true, sees: ['io.acme/mail'], not: ['io.acme/deploy'], roles: [] };
  const out = { enters: false, not: ['io.acme/mail'], roles: [] };

  it('are identified as in a request', async () => {
    folder.write('own-token', service.issuer.sign(PIA));
    const { code, output } = await run([
      { caller: token({ ...PIA, role: 'admin' }), ...both, roles: ['manageSources', 'manageRegistries'] },
      { caller: { tokenFile: 'own-token' }, ...both },
      { caller: token({ ...PIA, sub: 'mallory', role: 'admin' }), registry: 'acme', ...out },
      { caller: { anonymous: true }, registry: 'open', ...mail },
      { caller: { anonymous: true }, registry: 'acme', ...out },
      { caller: { key: 'reader' }, registry: 'acme', ...mail },
      { caller: { key: 'reader' }, registry: 'open', ...out },
    ]);
    expect(output).toContain('7 passed, 0 failed');
    expect(code).toBe(0);
  });

  it('fail an expectation if they do not exist', async () => {
    const { code, output } = await run([
      { caller: { key: 'none' }, registry: 'acme' },
      { caller: { token: { provider: 'other', claims: {} } }, registry: 'acme' },
    ]);
    expect(code).toBe(1);
    expect(output).toContain('\n      caller.key is not the name of a registry key\n');
    expect(output).toContain('\n      caller.token.provider must be one of corporate\n');
  });

  it('cause exit code 2 if no provider issues their token', async () => {
    folder.write('foreign', service.issuer.sign({ ...PIA, iss: 'https://other.example' }));
    expect(await run([{ caller: { tokenFile: 'foreign' }, registry: 'acme' }])).toMatchObject({
      code: 2,
      output: expect.stringContaining(
        'no provider is configured for the token\'s issuer, "https://other.example"',
      ),
    });
  });
});

it('explanations use the providers and blocked callers of the last reload', async () => {
  const { everyProvider, blocked } = AUTH;
  const claims = everyProvider.claims.map((rule) => ({
    ...rule,
    ...('values' in rule ? { values: { g9: 'platform' } } : {}),
  }));
  await service.reload((edited) => edited.auth({ blocked: [{ subject: 'pia' }], everyProvider: { claims } }));
  const answer = async (held: Form) =>
    ((await ask(SUPER_ADMIN, token(held))).json as { answer: object }).answer;
  expect(await answer(PIA)).toEqual({ status: 401, code: 'caller_blocked' });
  const mallory = { ...PIA, sub: 'mallory' };
  expect(await answer(mallory)).toEqual({ status: 404, code: 'entry_not_found' });
  expect(await answer({ ...mallory, groups: ['g9'] })).toEqual({ status: 200 });
  await service.reload((edited) => edited.auth({ blocked: [...blocked], everyProvider }));
  expect(await answer(PIA)).toEqual({ status: 200 });
});
