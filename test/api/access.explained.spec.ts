import { beforeAll, describe, expect, it } from 'vitest';
import {
  ACME_ADMIN,
  ACME_DATA,
  ACME_PLATFORM,
  ACME_WRITER,
  CONTOSO_ADMIN,
  CONTOSO_READER,
  NOBODY,
  SUPER_ADMIN,
} from '../support/callers.js';
import { aServer, aSkill } from '../support/documents.js';
import type { Sender } from '../support/http.js';
import { expectRefused } from '../support/matchers.js';
import { answerTo } from '../support/same-answer.js';
import { aService } from '../support/service.js';
import { storeContent } from '../support/stored-content.js';
import { within } from '../support/within.js';

interface Explanation {
  answer: { status: number; code?: string };
  decision: string;
  steps: { step: string; outcome: string; [more: string]: unknown }[];
  missing?: { key: string; needs: string }[];
  hints: string[];
}

const service = aService({ mode: 'full' })
  .source('first', { servers: [aServer('io.acme/both')], claims: { org: 'acme', team: 'data' } })
  .source('catalog', {
    servers: [aServer('io.acme/both'), aServer('io.acme/open')],
    skills: [aSkill('io.acme/code-review')],
    claims: { org: 'acme' },
  })
  .source('published', {
    kind: 'managed',
    settings: { names: [{ include: ['com.blue/*'], claims: { org: 'blue' } }] },
    claims: { org: 'acme' },
  })
  .source('elsewhere', { servers: [aServer('com.contoso/x')], claims: { org: 'contoso' } })
  .registry('acme', { sources: ['first', 'catalog', 'published'], claims: { org: 'acme' } })
  .registry('contoso', { sources: ['elsewhere', 'published'], claims: { org: 'contoso' } })
  .registry('lobby', { sources: ['published'], publishClaims: { org: 'acme', team: 'platform' } })
  .runs();

const TEAMS = { org: 'acme', team: ['platform', 'data'] };
const BLUE_WRITER = { sub: 'bea', org: 'blue', role: 'writer' };
const WRITER_OF_BOTH = { sub: 'wanda', org: 'acme', team: ['platform', 'data'], role: 'writer' };

const ask = async (sender: Sender, question: object): Promise<Explanation> => {
  const reply = await sender.post('/v1/access/explain', question);
  expect(reply.text, JSON.stringify(question)).toContain('"decision"');
  expect(reply.status).toBe(200);
  return reply.json as Explanation;
};
const server = (name: string, version?: string) => ({
  type: 'server',
  name,
  ...(version === undefined ? {} : { version }),
});
const aboutAcme = (name: string, more: object = {}) => ({ registry: 'acme', entry: server(name), ...more });
const outcomes = ({ steps }: Explanation) => steps.map(({ step, outcome }) => `${step} ${outcome}`);

beforeAll(async () => {
  for (const name of ['first', 'catalog', 'elsewhere']) await service.synced(name);
  const writer = service.as(WRITER_OF_BOTH);
  const publish = (name: string, claims: object) =>
    writer.post('/v1/entries', { server: aServer(name), claims });
  expect((await publish('io.acme/teams', TEAMS)).status).toBe(201);
  expect((await publish('io.acme/cleared', { org: 'acme' })).status).toBe(201);
  const blue = { server: aServer('com.blue/payments'), claims: { org: 'blue' } };
  expect((await service.as(BLUE_WRITER).post('/v1/entries', blue)).status).toBe(201);
  const cleared = await writer.put('/v1/entries/server/io.acme%2Fcleared/claims', { claims: {} });
  expect(cleared.status).toBe(204);
});

describe('POST /v1/access/explain without `as`', () => {
  it('reports a visible entry as shown', async () => {
    const explanation = await ask(service.as(ACME_PLATFORM), aboutAcme('io.acme/open'));
    expect(explanation).toEqual({
      answer: { status: 200 },
      decision: 'shown',
      steps: [
        { step: 'token', outcome: 'passed' },
        { step: 'registry', outcome: 'passed' },
        { step: 'gate', outcome: 'passed' },
        { step: 'entry', outcome: 'passed' },
      ],
      hints: [],
    });
  });

  it.each(['io.acme/teams', 'io.acme/cleared', 'io.acme/never'])(
    'reports a hidden entry exactly like a missing one: %s',
    async (name) => {
      expect(await ask(service.as(ACME_PLATFORM), aboutAcme(name))).toEqual({
        answer: { status: 404, code: 'entry_not_found' },
        decision: 'absent',
        steps: [
          { step: 'token', outcome: 'passed' },
          { step: 'registry', outcome: 'passed' },
          { step: 'gate', outcome: 'passed' },
          { step: 'entry', outcome: 'absent', code: 'entry_not_found' },
        ],
        hints: [],
      });
    },
  );

  it('returns the same bytes for a hidden and a missing entry to every caller', async () => {
    const pairs = [
      ['io.acme/teams', 'io.acme/teamt'],
      ['com.contoso/x', 'com.contoso/y'],
    ] as const;
    for (const claims of [ACME_PLATFORM, ACME_DATA, ACME_WRITER, NOBODY, CONTOSO_READER, CONTOSO_ADMIN])
      for (const action of ['see', 'manage'])
        for (const [hidden, missing] of pairs) {
          const token = service.issuer.sign(claims);
          const read = async (name: string) => {
            const body = { registry: 'acme', entry: server(name), action };
            const sent = { method: 'POST', path: '/v1/access/explain', body };
            const answer = await answerTo(service.port, token, sent);
            return answer.replaceAll(/^(x-request-id|date|etag): .*$/gim, '');
          };
          expect(await read(hidden), `${claims.sub} ${action}`).toBe(await read(missing));
        }
  });

  it('reports whether a visible skill has files', async () => {
    const skill = { registry: 'acme', entry: { type: 'skill', name: 'io.acme/code-review' } };
    const content = async (sender: Sender, question: object) =>
      (await ask(sender, question)).steps.filter(({ step }) => step === 'content');
    expect(await content(service.as(ACME_DATA), skill)).toEqual([
      { step: 'content', outcome: 'absent', because: 'this version has no files' },
    ]);
    await storeContent(service, 'skill', 'io.acme/code-review', '1.0.0', { 'SKILL.md': 'x' });
    expect(await content(service.as(ACME_DATA), skill)).toEqual([{ step: 'content', outcome: 'passed' }]);
    expect(await content(service.as(ACME_DATA), aboutAcme('io.acme/open'))).toEqual([]);
    const as = (claims: object) => ({ ...skill, as: { claims } });
    expect(await content(service.as(SUPER_ADMIN), as(ACME_DATA))).toHaveLength(1);
    expect(await content(service.as(SUPER_ADMIN), as(CONTOSO_READER))).toEqual([]);
  });

  it('does not reveal the claims a gate requires', async () => {
    const explanation = await ask(service.as(CONTOSO_READER), aboutAcme('io.acme/open'));
    expect(explanation.answer).toEqual({ status: 403, code: 'registry_forbidden' });
    expect(explanation.decision).toBe('refused');
    expect(explanation.steps).toContainEqual({
      step: 'gate',
      outcome: 'refused',
      code: 'registry_forbidden',
    });
    expect(outcomes(explanation).at(-1)).toBe('entry absent');
    expect(explanation.hints.join()).toContain('/v1/me?claims=true');
  });

  it('reveals required and missing claims in a registry the caller manages', async () => {
    const explanation = await ask(service.as(ACME_ADMIN), aboutAcme('io.acme/teams'));
    expect(explanation.decision).toBe('hidden');
    expect(explanation.steps).toContainEqual({
      step: 'entry',
      outcome: 'refused',
      code: 'entry_not_found',
      source: 'published',
      required: TEAMS,
      missing: [
        { key: 'team', needs: 'platform', held: [], because: 'arrayValues: all' },
        { key: 'team', needs: 'data', held: [], because: 'arrayValues: all' },
      ],
    });
  });

  it('returns version_not_found for a missing version of a visible entry', async () => {
    const explanation = await ask(service.as(ACME_PLATFORM), {
      registry: 'acme',
      entry: server('io.acme/open', '9.9.9'),
    });
    expect(explanation.answer).toEqual({ status: 404, code: 'version_not_found' });
    expect(outcomes(explanation).slice(-2)).toEqual(['entry passed', 'version absent']);
  });

  it('hints at claims in the token that look wrong', async () => {
    const explanation = await ask(
      service.as({ ...ACME_PLATFORM, realm_access: { roles: ['writer'] }, tenant: 2 ** 60, scope: 'a b' }),
      { registry: 'acme' },
    );
    expect(explanation.decision).toBe('shown');
    // Nothing requires `scope`.
    expect(explanation.hints).toEqual(
      expect.arrayContaining([expect.stringMatching(/"tenant"/), expect.stringMatching(/realm_access/)]),
    );
    expect(explanation.hints).toHaveLength(2);
  });
});

describe('POST /v1/access/explain with `as`', () => {
  it('requires a manage role', async () => {
    const question = aboutAcme('io.acme/open', { as: { claims: { org: 'acme' } } });
    expectRefused(await service.as(ACME_PLATFORM).post('/v1/access/explain', question), 403, 'role_required');
    expect((await ask(service.as(ACME_ADMIN), question)).decision).toBe('shown');
  });

  it('reports the minimal missing claims', async () => {
    const as = { claims: { org: 'acme', team: 'platform' } };
    const explanation = await ask(service.as(ACME_ADMIN), aboutAcme('io.acme/teams', { as }));
    expect(explanation.answer).toEqual({ status: 404, code: 'entry_not_found' });
    expect(explanation.missing).toEqual([
      { key: 'team', needs: 'data', held: ['platform'], because: 'arrayValues: all' },
    ]);
    const opened = { claims: { org: 'acme', team: ['platform', 'data'] } };
    const then = await ask(service.as(ACME_ADMIN), aboutAcme('io.acme/teams', { as: opened }));
    expect(then.decision).toBe('shown');
  });

  it('reports the steps after a refusing gate, and the missing claims of all steps', async () => {
    const explanation = await ask(service.as(ACME_ADMIN), aboutAcme('io.acme/teams', { as: { claims: {} } }));
    expect(explanation.answer).toEqual({ status: 403, code: 'registry_forbidden' });
    expect(outcomes(explanation)).toEqual([
      'token passed',
      'registry passed',
      'gate refused',
      'source absent',
      'source absent',
      'source passed',
      'entry refused',
    ]);
    expect(explanation.missing?.map(({ key, needs }) => `${key}=${needs}`)).toEqual([
      'org=acme',
      'team=platform',
      'team=data',
    ]);
  });

  it('reports the source that shadows an entry', async () => {
    const explanation = await ask(
      service.as(ACME_ADMIN),
      aboutAcme('io.acme/both', { as: { claims: { org: 'acme', team: 'data' } } }),
    );
    expect(explanation.steps).toContainEqual({
      step: 'shadowing',
      outcome: 'refused',
      source: 'catalog',
      shadowedBy: 'first',
    });
    expect(explanation.hints).toEqual(['The entry of source catalog is shadowed: source first comes first']);
  });

  it('hints that only super-admins see an entry without claims', async () => {
    const as = { claims: { org: 'acme' } };
    const explanation = await ask(service.as(SUPER_ADMIN), aboutAcme('io.acme/cleared', { as }));
    expect(explanation.hints.join()).toContain('only super-admins');
    expect(explanation.missing).toBeUndefined();
  });

  it('hints at held claims that differ only in case or nesting', async () => {
    const as = { claims: { Org: 'acme', groups: { team: 'data' }, org: 'Acme' } };
    const explanation = await ask(service.as(SUPER_ADMIN), aboutAcme('io.acme/teams', { as }));
    expect(explanation.hints).toEqual([
      '"org" is required, but the caller has "Org": case matters',
      '"org" must be "acme", but the caller has "Acme": case and spaces matter',
      '"team" is required at the top level, but the caller has it at groups.team',
    ]);
  });

  it('reports a registry outside the caller’s claims exactly like an unknown one', async () => {
    const as = { claims: { org: 'contoso' } };
    const [hidden, missing] = await Promise.all(
      ['contoso', 'nowhere'].map((registry) =>
        service.as(ACME_ADMIN).post('/v1/access/explain', { registry, entry: server('com.contoso/x'), as }),
      ),
    );
    expect(hidden?.text).toBe(missing?.text);
    expect(hidden?.json).toEqual({
      answer: { status: 404, code: 'registry_not_found' },
      decision: 'absent',
      steps: [
        { step: 'token', outcome: 'passed' },
        { step: 'registry', outcome: 'unknown_to_you' },
        { step: 'gate', outcome: 'unknown_to_you' },
        { step: 'entry', outcome: 'unknown_to_you' },
      ],
      hints: [],
    });
  });

  it('reports to publishers only the entries that they may publish', async () => {
    const as = { claims: { org: 'acme' } };
    const writer = service.as(WRITER_OF_BOTH);
    const own = await ask(writer, aboutAcme('io.acme/teams', { as }));
    expect(own.steps).toContainEqual(expect.objectContaining({ step: 'entry', outcome: 'refused' }));
    const of = async (name: string) =>
      (await writer.post('/v1/access/explain', aboutAcme(name, { as }))).text;
    expect(await of('io.acme/both')).toBe(await of('io.acme/none'));
  });
});

describe('explaining the action "manage"', () => {
  it('checks role, claims and origin of a registry', async () => {
    const of = (claims: object) =>
      ask(service.as(SUPER_ADMIN), { registry: 'acme', action: 'manage', as: { claims } });
    const reader = await of({ org: 'acme' });
    expect(reader.answer).toEqual({ status: 403, code: 'role_required' });
    expect(reader.missing?.map(({ key, needs }) => `${key}=${needs}`)).toEqual(['role=admin']);
    const admin = await of({ org: 'acme', role: 'admin' });
    expect(admin.answer).toEqual({ status: 403, code: 'config_managed' });
    const stranger = await of({ org: 'contoso', role: 'admin' });
    expect(stranger.answer).toEqual({ status: 404, code: 'registry_not_found' });
    expect(stranger.decision).toBe('hidden');
  });

  it('predicts the response to the admin request for an entry', async () => {
    const question = aboutAcme('io.acme/teams', { action: 'manage' });
    for (const [claims, status, code] of [
      [ACME_PLATFORM, 403, 'role_required'],
      [ACME_WRITER, 404, 'entry_not_found'],
      [WRITER_OF_BOTH, 200, undefined],
    ] as const) {
      const explanation = await ask(service.as(claims), question);
      expect(explanation.answer).toEqual({ status, ...(code ? { code } : {}) });
      const reply = await service.as(claims).get('/v1/entries/server/io.acme%2Fteams');
      expect(reply.status).toBe(status);
    }
  });
});

describe('explaining the action "publish"', () => {
  const publishing = (name: string, more: object = {}) => ({
    registry: 'lobby',
    entry: server(name, '1.0.0'),
    action: 'publish',
    ...more,
  });

  it.each([
    [
      'allows a publisher who covers the registry’s publishClaims',
      ACME_WRITER,
      'io.acme/new',
      201,
      undefined,
    ],
    [
      'refuses a publisher who does not cover them',
      { ...ACME_WRITER, team: 'data' },
      'io.acme/new',
      400,
      'claims_not_subset',
    ],
    ['refuses a caller without the role', ACME_PLATFORM, 'io.acme/new', 403, 'role_required'],
    [
      'refuses claims that differ from the claims of the existing name',
      WRITER_OF_BOTH,
      'io.acme/teams',
      400,
      'claims_mismatch',
    ],
  ])('%s', async (_, claims, name, status, code) => {
    const explanation = await ask(service.as(claims), publishing(name));
    expect(explanation.answer).toEqual({ status, ...(code ? { code } : {}) });
    const body = { server: aServer(name), claims: { org: 'acme', team: 'platform' } };
    const reply = await service.as(claims).post('/v1/entries/validate', body);
    expect(reply.status).toBe(status === 201 ? 200 : status);
  });

  it('reports which of the requested claims the publisher lacks', async () => {
    const explanation = await ask(service.as(ACME_WRITER), publishing('io.acme/new', { claims: TEAMS }));
    expect(explanation.answer).toEqual({ status: 400, code: 'claims_not_subset' });
    expect(explanation.steps).toContainEqual(
      expect.objectContaining({ step: 'claims', missing: [expect.objectContaining({ needs: 'data' })] }),
    );
    const exists = await ask(service.as(WRITER_OF_BOTH), publishing('io.acme/teams', { claims: TEAMS }));
    expect(exists.answer).toEqual({ status: 409, code: 'version_exists' });
  });
});

describe('explaining a publication under a reserved name', () => {
  const explain = async (claims: object, name: string, more: object = {}) => {
    const question = { registry: 'lobby', entry: server(name, '1.0.0'), action: 'publish', ...more };
    return (await service.as({ ...claims }).post('/v1/access/explain', question)).text;
  };

  it.each([
    ['the claims of the registry', {}],
    ['the publisher’s own claims', { claims: { org: 'acme', team: 'platform' } }],
    ['the claims of another team', { claims: { org: 'blue' } }],
  ])('does not reveal whether the name is taken, with %s', async (_, more) => {
    const taken = await explain(ACME_WRITER, 'com.blue/payments', more);
    expect(taken).toContain('"name_reserved"');
    expect(taken).toBe(await explain(ACME_WRITER, 'com.blue/nothing', more));
    const ownTaken = await explain(BLUE_WRITER, 'com.blue/payments', { claims: { org: 'blue' } });
    expect(ownTaken).toContain('"version_exists"');
    const ownFree = await explain(BLUE_WRITER, 'com.blue/nothing', { claims: { org: 'blue' } });
    expect(ownFree).toContain('the name is new');
  });
});

describe('an explanation with very many claims', () => {
  const values = (count: number, prefix: string) => Array.from({ length: count }, (_, n) => `${prefix}${n}`);

  it('reports at most 100 missing claims', async () => {
    const claims = Object.fromEntries(values(60, 'k').map((key) => [key, values(10, 'v')]));
    const explanation = await ask(service.as(ACME_PLATFORM), {
      registry: 'lobby',
      action: 'publish',
      claims,
    });
    const missing = explanation.steps.flatMap(({ step, missing: lacking }) =>
      step === 'claims' ? lacking : [],
    );
    expect(missing).toHaveLength(100);
    const few = { registry: 'lobby', action: 'publish', claims: { k0: values(99, 'v') } };
    const fewExplained = await ask(service.as(ACME_PLATFORM), few);
    expect(fewExplained.steps.at(-1)).toMatchObject({ step: 'claims', missing: { length: 99 } });
  });

  it('cuts held values to 100 characters', async () => {
    const as = { claims: { org: values(20, 'x'.repeat(3_000)) } };
    const reply = await service.as(SUPER_ADMIN).post('/v1/access/explain', aboutAcme('io.acme/open', { as }));
    expect(reply.status).toBe(200);
    expect(reply.text.length).toBeLessThan(20_000);
    expect(reply.text).toContain(`"${'x'.repeat(100)}…"`);
  });
});

describe('POST /v1/access/preview', () => {
  const preview = (sender: Sender, as: object, more: object = {}) =>
    sender.post('/v1/access/preview', { registry: 'acme', as: { claims: as }, ...more });

  it('returns the page as the described caller would get it, byte for byte, with counts', async () => {
    for (const [asker, claims] of [
      [ACME_ADMIN, ACME_PLATFORM],
      [ACME_ADMIN, ACME_DATA],
      [ACME_ADMIN, WRITER_OF_BOTH],
      [SUPER_ADMIN, SUPER_ADMIN],
    ] as const)
      for (const [type, path] of [
        ['server', 'servers'],
        ['skill', 'x/dev.toolhive/skills'],
      ] as const) {
        const reply = await preview(service.as(asker), claims, { type });
        expect(reply.status).toBe(200);
        const own = await service.as(claims).get(`/registry/acme/v0.1/${path}`);
        expect(reply.text.endsWith(`,"page":${own.text}}`)).toBe(true);
        const { counts } = reply.json as { counts: Record<string, number> };
        const { metadata } = own.json as { metadata: { count: number } };
        expect(counts[type]).toBe(metadata.count);
      }
  });

  it('returns no page when the gate refuses the caller', async () => {
    const reply = await preview(service.as(ACME_ADMIN), CONTOSO_READER);
    expect(reply.json).toEqual({
      answer: { status: 403, code: 'registry_forbidden' },
      counts: { server: 0, skill: 0, plugin: 0 },
      page: null,
    });
  });

  it('is restricted to managers of the registry', async () => {
    expectRefused(await preview(service.as(ACME_WRITER), {}), 403, 'role_required');
    expectRefused(await preview(service.as(CONTOSO_ADMIN), {}), 404, 'registry_not_found');
    expectRefused(
      await preview(service.as(ACME_ADMIN), {}, { registry: 'nowhere' }),
      404,
      'registry_not_found',
    );
    expect((await preview(service.as(ACME_ADMIN), {})).status).toBe(200);
  });
});

describe('listing who has access', () => {
  it('returns the claim sets of a published entry per registry to its publishers', async () => {
    const path = '/v1/entries/server/io.acme%2Fteams/access';
    const reply = await service.as(WRITER_OF_BOTH).get(path);
    expect(reply.json).toEqual({
      claimSets: [
        {
          registry: 'acme',
          claims: TEAMS,
          sentence: 'org is acme and team is both platform and data',
          count: 1,
        },
        {
          registry: 'lobby',
          claims: TEAMS,
          sentence: 'org is acme and team is both platform and data',
          count: 1,
        },
      ],
      anonymous: false,
      managedBy: [
        {
          role: 'manageEntries',
          sentence: 'role is writer and org is acme and team is both platform and data',
        },
        { role: 'superAdmin', sentence: 'every super-admin' },
      ],
      keys: [],
    });
    expectRefused(await service.as(ACME_WRITER).get(path), 404, 'entry_not_found');
    expectRefused(await service.as(ACME_ADMIN).get(path), 403, 'role_required');
  });

  it('returns the claim sets of a registry to its managers', async () => {
    const reply = await service.as(ACME_ADMIN).get('/v1/registries/acme/access');
    expect((reply.json as { claimSets: object[] }).claimSets).toEqual(
      expect.arrayContaining([
        { claims: { org: 'acme' }, sentence: 'org is acme', count: 3 },
        { claims: { org: 'acme', team: 'data' }, sentence: 'org is acme and team is data', count: 1 },
        { claims: {}, sentence: 'super-admins only', count: 1 },
      ]),
    );
    expectRefused(
      await service.as(CONTOSO_ADMIN).get('/v1/registries/acme/access'),
      404,
      'registry_not_found',
    );
  });

  it('groups entries that require the same claims, including the claims of the registry', async () => {
    const writer = service.as({ sub: 'olga', org: 'contoso', team: 'data', role: 'writer' });
    const publish = (name: string, claims: object) =>
      writer.post('/v1/entries', { server: aServer(name), claims });
    expect((await publish('com.contoso/y', { team: 'data' })).status).toBe(201);
    expect((await publish('com.contoso/z', { team: 'data', org: 'contoso' })).status).toBe(201);
    const reply = await service.as(CONTOSO_ADMIN).get('/v1/registries/contoso/access');
    const { claimSets } = reply.json as { claimSets: { sentence: string; count: number }[] };
    expect(claimSets.filter(({ sentence }) => sentence.includes('team is data'))).toEqual([
      { claims: { org: 'contoso', team: 'data' }, sentence: 'org is contoso and team is data', count: 2 },
    ]);
    expect(claimSets).toContainEqual({ claims: { org: 'contoso' }, sentence: 'org is contoso', count: 1 });
  });

  it('returns the claim sets of an entry per source, with what shadows it', async () => {
    const reply = await service.as(ACME_ADMIN).get('/v1/registries/acme/access?entry=io.acme%2Fboth');
    expect(reply.json).toMatchObject({
      claimSets: [
        { source: 'first', sentence: 'org is acme and team is data' },
        { source: 'catalog', sentence: 'org is acme' },
      ],
      shadowedBy: [{ registry: 'acme', source: 'catalog', by: ['first'] }],
    });
    const missing = await service.as(ACME_ADMIN).get('/v1/registries/acme/access?entry=io.acme%2Fnone');
    expectRefused(missing, 404, 'entry_not_found');
  });
});

describe('a refusal', () => {
  it.each([
    ['without a token', undefined, '/v1/sources', 401, 'token_missing', 'token'],
    ['without the role', NOBODY, '/v1/sources', 403, 'role_required', 'roles'],
    ['at the gate', CONTOSO_READER, '/registry/acme/v0.1/servers', 403, 'registry_forbidden', 'gate'],
  ])(
    '%s mentions the explain endpoint if the token is accepted, and the log has the deciding step',
    async (_, claims, path, status, code, step) => {
      const sender = claims ? service.as(claims) : service;
      const reply = await sender.get(path);
      expectRefused(reply, status, code);
      const { details, requestId } = reply.json as { details?: string[]; requestId: string };
      const hint = [expect.stringContaining('POST /v1/access/explain')];
      expect(details).toEqual(status === 403 ? hint : undefined);
      const logged = () =>
        service.logs().find((line) => line['requestId'] === requestId && line.msg === 'request');
      await within(20_000, () => expect(logged()).toMatchObject({ step }));
    },
  );

  it('of a hidden entry has no details', async () => {
    const reply = await service.as(ACME_PLATFORM).get('/registry/acme/v0.1/servers/io.acme%2Fteams/versions');
    expectRefused(reply, 404, 'entry_not_found');
    expect(reply.json).not.toHaveProperty('details');
  });
});
