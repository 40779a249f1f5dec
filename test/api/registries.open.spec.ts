import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serversIn } from '../support/answers.js';
import { eventsOf } from '../support/audit.js';
import { aServer, aSkill } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { call, type Headers, type Reply, type Sender } from '../support/http.js';
import { cursorIn, expectChallenge, expectRefused } from '../support/matchers.js';
import { aKey } from '../support/registry-keys.js';
import { aService, type ServiceUnderTest } from '../support/service.js';

const LIST = '/registry/ide/v0.1/servers';
const OPEN = Array.from({ length: 120 }, (_, at) => `io.acme/open-${String(at).padStart(3, '0')}`);
const AUDIENCE = { audience: 'ide' };
const EMPLOYEE = { sub: 'emil', org: 'acme' };

const folder = aFolder();
const keys = { copilot: aKey(), expired: aKey(), foreign: aKey() };
for (const [name, key] of Object.entries(keys)) folder.write(name, `${key}\n`);
const keyFile = (name: keyof typeof keys) => folder.file(name);

const service = aService({ mode: 'full' })
  .source('open', {
    claims: AUDIENCE,
    servers: OPEN.map((name) => aServer(name)),
    skills: [aSkill('io.acme/open')],
  })
  .source('internal', { claims: { org: 'acme' }, servers: [aServer('io.acme/internal')] })
  .registry('ide', {
    sources: ['open', 'internal'],
    claims: AUDIENCE,
    anonymous: { claims: AUDIENCE },
    keys: [
      {
        name: 'copilot',
        secretFile: keyFile('copilot'),
        claims: { ...AUDIENCE, org: 'acme' },
        expires: '2999-12-31',
      },
      { name: 'expired', secretFile: keyFile('expired'), claims: AUDIENCE, expires: '2026-01-01' },
    ],
  })
  .registry('staff', {
    sources: ['open', 'internal'],
    claims: { org: 'acme' },
    keys: [{ name: 'foreign', secretFile: keyFile('foreign'), claims: { org: 'acme' } }],
  })
  .registry('keyless', { sources: ['open'], claims: { org: 'acme' }, anonymous: { claims: AUDIENCE } })
  .configuration({ rootRegistry: 'ide', audit: { reads: true } })
  .runs();
let other: ServiceUnderTest;
beforeAll(async () => {
  other = service.replica();
  await other.start();
});
afterAll(() => other.stop());

/** Pages through a list as VS Code does: no token, and the cursor verbatim in the URL. */
async function walk(sender: Sender, list: string): Promise<{ names: string[]; pages: Reply[] }> {
  const pages: Reply[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined; cursor = cursorIn(pages.at(-1) as Reply)) {
    const page = await sender.get(`${list}?limit=50&version=latest${cursor ? `&cursor=${cursor}` : ''}`);
    pages.push(page);
    if (pages.length > 5) throw new Error('The list does not end');
  }
  return { names: pages.flatMap(serversIn), pages };
}

describe('an anonymous registry', () => {
  it('shows VS Code the entries its anonymous claims cover, on every replica', async () => {
    const [here, there] = [await walk(service, LIST), await walk(other, LIST)];
    expect(here.names).toEqual(OPEN);
    expect(here.pages.map(({ text }) => text)).toEqual(there.pages.map(({ text }) => text));
  });

  it('allows every consumer read without a token', async () => {
    for (const path of [
      '/servers/io.acme%2Fopen-001/versions',
      '/servers/io.acme%2Fopen-001/versions/latest',
      '/x/dev.toolhive/skills',
      '/x/dev.toolhive/skills/io.acme/open',
    ])
      for (const version of ['v0.1', 'v0'])
        expect((await service.get(`/registry/ide/${version}${path}`)).status, path).toBe(200);
    expect((await service.send('HEAD', LIST)).status).toBe(200);
    expect((await service.get('/registry/ide/openapi.yaml')).status).toBe(200);
  });

  it('hides the same entries as it does from a token with the same claims', async () => {
    const path = '/registry/ide/v0.1/servers/io.acme%2Finternal/versions/latest';
    expectRefused(await service.get(path), 404, 'entry_not_found');
    expectRefused(await service.as(AUDIENCE).get(path), 404, 'entry_not_found');
    expect((await service.as({ ...AUDIENCE, org: 'acme' }).get(path)).status).toBe(200);
  });

  it('sends the same page and ETag with and without a token, as Cache-Control: private', async () => {
    const [without, withToken] = [await service.get(LIST), await service.as(AUDIENCE).get(LIST)];
    expect(without.text).toBe(withToken.text);
    for (const { headers } of [without, withToken])
      expect(headers).toMatchObject({
        'cache-control': 'private, no-cache',
        vary: expect.stringContaining('Authorization') as string,
        etag: without.headers.etag,
      });
    expect((await service.get(LIST, { 'If-None-Match': String(without.headers.etag) })).status).toBe(304);
  });

  it('shares one cached page among callers with the same view', async () => {
    const path = `${LIST}?limit=7`;
    expect((await service.as(AUDIENCE).get(path)).status).toBe(200);
    const missed = async () => {
      const { text } = await call(`${service.internalOrigin}/metrics`);
      return /^registry_page_cache_requests_total\{outcome="miss"\} (\d+)$/m.exec(text)?.[1];
    };
    const before = await missed();
    expect((await service.get(path)).status).toBe(200);
    expect(await missed()).toBe(before);
    expect((await service.get(`${LIST}?limit=8`)).status).toBe(200);
    expect(await missed()).not.toBe(before);
  });

  it("counts only the token's claims when a token is sent", async () => {
    expectChallenge(await service.bearing('a.b.c').get(LIST), { error: 'invalid_token' });
    expectChallenge(await service.get(LIST, { Authorization: 'Bearer' }), { error: 'invalid_token' });
    expectRefused(await service.as(EMPLOYEE).get(LIST), 403, 'registry_forbidden');
    expect(serversIn(await service.as({ ...EMPLOYEE, ...AUDIENCE }).get(`${LIST}?search=internal`))).toEqual([
      'io.acme/internal',
    ]);
  });

  it('opens nothing else: no other registry, no registry list, no writes, no admin API', async () => {
    for (const path of [
      '/registry/staff/v0.1/servers',
      '/registry/nowhere/v0.1/servers',
      '/registry',
      '/v1/me',
      '/v1/registries',
      '/v1/registries/ide',
    ])
      expectChallenge(await service.get(path));
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      expectChallenge(await service.send(method, `${LIST}/io.acme%2Fopen-001`));
    expectChallenge(await service.post('/registry/ide/v0/publish', aServer('io.acme/mine')));
    expectRefused(await service.get('/registry/ide'), 404, 'route_not_found');
  });

  it('still checks the gate', async () => {
    expectRefused(await service.get('/registry/keyless/v0.1/servers'), 403, 'registry_forbidden');
  });

  it('is also served at the root when it is rootRegistry', async () => {
    expect((await service.get('/v0.1/servers?limit=50')).text).toBe(
      (await service.get(`${LIST}?limit=50`)).text,
    );
    expect((await service.get('/v0/servers/')).headers['access-control-allow-origin']).toBe('*');
    expectChallenge(await service.post('/v0.1/publish', {}));
    expectRefused(await service.as(EMPLOYEE).get('/v0.1/servers'), 403, 'registry_forbidden');
  });
});

describe('a registry key', () => {
  const at = (key: string, rest = '/v0.1/servers', registry = 'ide') =>
    `/registry/${registry}/k/${key}${rest}`;

  it("serves the registry with the key's claims, on every replica", async () => {
    for (const replica of [service, other]) {
      const reply = await replica.get(at(keys.copilot, '/v0.1/servers?search=internal'));
      expect(serversIn(reply)).toEqual(['io.acme/internal']);
    }
    expect((await walk(service, at(keys.copilot))).names).toHaveLength(OPEN.length + 1);
    expect((await service.get(at(keys.copilot, '/openapi.yaml'))).status).toBe(200);
    expectRefused(await service.get(at(keys.copilot, '/nothing')), 404, 'route_not_found');
  });

  it('yields to a token that is sent, and does not allow writes', async () => {
    expectChallenge(await service.bearing('a.b.c').get(at(keys.copilot)), { error: 'invalid_token' });
    expectRefused(await service.as(EMPLOYEE).get(at(keys.copilot)), 403, 'registry_forbidden');
    expectChallenge(await service.post(at(keys.copilot, '/v0/publish'), {}));
    expectRefused(await service.as(EMPLOYEE).post(at(keys.copilot, '/v0/publish'), {}), 501, 'use_admin_api');
  });

  it.each<[string, string]>([
    ['wrong', aKey()],
    ['expired', keys.expired],
    ['of another registry', keys.foreign],
    ['shortened', keys.copilot.slice(0, 42)],
    ['lengthened', `${keys.copilot}A`],
    ['with its last character changed', keys.copilot.slice(0, 42) + (keys.copilot.endsWith('A') ? 'E' : 'A')],
    ['that is malformed', 'v0.1'],
  ])('%s gets the same bytes as an unknown registry', async (_why, key) => {
    const token = service.issuer.sign({ ...EMPLOYEE, ...AUDIENCE });
    for (const headers of [
      {} as Headers,
      { Authorization: `Bearer ${token}` },
      { Authorization: 'Bearer a.b.c' },
    ])
      for (const [method, rest] of [
        ['GET', '/v0.1/servers'],
        ['GET', '/openapi.yaml'],
        ['POST', '/v0/publish'],
        ['GET', '/nothing'],
        ['GET', ''],
      ] as const) {
        const [reply, unknown] = [
          await service.send(method, at(key, rest), { headers }),
          await service.send(method, at(key, rest, 'nowhere'), { headers }),
        ];
        expectRefused(reply, 404, 'registry_not_found');
        expect(withoutId(reply)).toEqual(withoutId(unknown));
      }
  });

  it('appears by name in the audit trail', async () => {
    const root = service.as({ role: 'super-admin' });
    for (const [reply, outcome, name] of [
      [await service.get(at(keys.copilot)), 'allowed', 'ide'],
      [
        await service.get(at(keys.copilot, '/v0.1/servers/io.acme%2Fnone/versions')),
        'refused',
        'io.acme/none',
      ],
    ] as const) {
      const [event] = await eventsOf(root, reply, `target=${name}`);
      expect(event).toMatchObject({ outcome, target: { name } });
      expect(event?.actor).toEqual({ subject: null, issuer: null, key: 'copilot', roles: [] });
    }
  });

  it('never appears in the log, which shows its position instead', async () => {
    await service.get(at(keys.copilot));
    await service.get(`/registry/ide/%6b/${keys.copilot}/v0.1/servers`);
    await service.get(`/registry/ide%2Fk%2F${keys.copilot}/v0.1/servers`);
    await service.get(`/registry/ide/v0.1/servers/${keys.copilot}/versions`);
    const paths = service.logs().map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining([
        '/registry/ide/k/{key}/v0.1/servers',
        '/registry/ide/%6b/{key}/v0.1/servers',
        '/registry/ide%2Fk%2F{key}/v0.1/servers',
      ]),
    );
    expect(service.log.join('')).not.toContain(keys.copilot.slice(0, 20));
  });
});

function withoutId({ status, headers, text }: Reply): object {
  const id = String(headers['x-request-id']);
  return { status, headers: { ...headers, date: '', 'x-request-id': '' }, text: text.replace(id, '') };
}

describe('validators and cursors across callers', () => {
  const KEYED = `/registry/ide/k/${keys.copilot}/v0.1/servers`;

  it('an ETag matches for callers with the same view and no others', async () => {
    const tagOf = async (reply: Promise<Reply>) => ({ 'If-None-Match': String((await reply).headers.etag) });
    const colleague = service.as({ ...EMPLOYEE, ...AUDIENCE });
    const [open, keyed, known] = [
      await tagOf(service.get(LIST)),
      await tagOf(service.get(KEYED)),
      await tagOf(colleague.get(LIST)),
    ];
    expect(keyed).toEqual(known);
    expect((await service.get(KEYED, known)).status).toBe(304);
    expect((await colleague.get(LIST, keyed)).status).toBe(304);
    for (const reply of [await service.get(LIST, known), await colleague.get(LIST, open)])
      expect(reply.status).toBe(200);
  });

  it('a cursor continues in the view of the caller who sends it', async () => {
    const colleague = service.as({ ...EMPLOYEE, ...AUDIENCE });
    const page = await colleague.get(`${LIST}?limit=1`);
    expect(serversIn(page)).toEqual(['io.acme/internal']);
    const after = `${LIST}?cursor=${cursorIn(page)}`;
    expect(serversIn(await service.get(after))).toEqual([OPEN[0]]);
    const next = cursorIn(await service.get(`${LIST}?limit=1&search=io.acme`));
    expect(serversIn(await colleague.get(`${KEYED}?cursor=${next}`))).toEqual([OPEN[1]]);
  });
});

describe('a reload', () => {
  const turned = aKey();
  const next = aKey();
  const secretFile = folder.write('turned', turned);
  const at = (key: string) => `/registry/turned/k/${key}/v0.1/servers`;
  const registry = { sources: ['open'], claims: AUDIENCE };
  const reloaded = aService({ mode: 'full' })
    .source('open', { claims: AUDIENCE, servers: [aServer('io.acme/open')] })
    .registry('turned', {
      ...registry,
      anonymous: { claims: AUDIENCE },
      keys: [{ name: 'copilot', secretFile, claims: AUDIENCE }],
    })
    .configuration({ rootRegistry: 'turned' })
    .runs();

  it('applies a changed key file and a removed key to the next request', async () => {
    const open = '/registry/turned/v0.1/servers';
    expect((await reloaded.get(at(turned))).status).toBe(200);
    folder.write('turned', next);
    expect((await reloaded.reload()).changes).toEqual(['registry turned: changed']);
    expectRefused(await reloaded.get(at(turned)), 404, 'registry_not_found');
    for (const path of [at(next), open, '/v0.1/servers'])
      expect((await reloaded.get(path)).status, path).toBe(200);
    await reloaded.reload((edited) => edited.registry('turned', registry));
    expectRefused(await reloaded.get(at(next)), 404, 'registry_not_found');
    for (const path of [open, '/v0.1/servers']) expectChallenge(await reloaded.get(path));
    expect((await reloaded.as(AUDIENCE).get(open)).status).toBe(200);
  });
});

describe('the startup log', () => {
  it('reports how many entries each anonymous registry and key opens', () => {
    const said = service.logs().filter(({ context }) => context === 'authz');
    expect(said).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          level: 'warn',
          registry: 'ide',
          claims: AUDIENCE,
          entries: OPEN.length + 1,
        }),
        expect.objectContaining({ level: 'info', registry: 'ide', key: 'copilot', entries: OPEN.length + 2 }),
        expect.objectContaining({ level: 'warn', registry: 'keyless', entries: 0 }),
      ]),
    );
  });
});
