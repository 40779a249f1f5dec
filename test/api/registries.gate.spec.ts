import { describe, expect, it } from 'vitest';
import { openRegistriesIn, outcomeOf, serversIn } from '../support/answers.js';
import { ACME_DATA, ACME_PLATFORM, CONTOSO_READER, NOBODY, SUPER_ADMIN } from '../support/callers.js';
import { aServer, aSkill } from '../support/documents.js';
import { aService } from '../support/service.js';
import { CLAIMS_PAIRS, expectOneClaimApart } from '../support/claims-pairs.js';

const GATED_PATHS = [
  '/servers',
  '/servers?limit=1&search=deploy&version=latest&updated_since=2020-01-01T00:00:00Z',
  '/servers/io.acme%2Fdeploy/versions',
  '/servers/io.acme%2Fdeploy/versions/1.0.0',
  '/servers/io.acme%2Fdeploy/versions/latest',
  '/x/dev.toolhive/skills',
  '/x/dev.toolhive/skills/io.acme/review',
  '/x/dev.toolhive/skills/io.acme/review/versions',
  '/x/dev.toolhive/skills/io.acme/review/versions/1.0.0',
];

const service = aService({ mode: 'full' })
  .source('tools', {
    claims: { org: 'acme' },
    servers: [aServer('io.acme/deploy')],
    skills: [aSkill('io.acme/review')],
  })
  .registry('platform', { sources: ['tools'], claims: { org: 'acme', team: 'platform' } })
  .registry('open', { sources: ['tools'] })
  .registry('empty', { sources: ['tools'], claims: {} })
  .registry('contoso', { sources: ['tools'], claims: { org: 'contoso' } })
  .registry('acme', { sources: ['tools'], claims: { org: 'acme' } })
  .runs();

describe('a registry gate that requires an organization', () => {
  describe.each(['v0.1', 'v0'])('under %s', (version) => {
    // An alias of the same routes.
    const paths = version === 'v0' ? GATED_PATHS.slice(0, 1) : GATED_PATHS;

    it.each(paths)('admits members at %s', async (path) => {
      const reply = await service.as(ACME_DATA).get(`/registry/acme/${version}${path}`);
      expect(outcomeOf(reply)).toBe('200');
    });

    it.each(paths)('returns 403 to members of another organization at %s', async (path) => {
      const outsider = { ...ACME_DATA, org: 'contoso' };
      expectOneClaimApart(ACME_DATA, outsider);
      const reply = await service.as(outsider).get(`/registry/acme/${version}${path}`);
      expect(outcomeOf(reply)).toBe('403 registry_forbidden');
    });

    it.each(paths)('returns 401 without a token at %s', async (path) => {
      const reply = await service.get(`/registry/acme/${version}${path}`);
      expect(outcomeOf(reply)).toBe('401 token_missing');
    });

    it.each(paths)('admits super-admins regardless of their other claims at %s', async (path) => {
      const reply = await service.as(SUPER_ADMIN).get(`/registry/acme/${version}${path}`);
      expect(outcomeOf(reply)).toBe('200');
    });
  });

  it.each([
    ['/servers/io.acme%2Fnothing/versions', '404 entry_not_found'],
    ['/servers/io.acme%2Fdeploy/versions/9.9.9', '404 version_not_found'],
    ['/x/dev.toolhive/skills/io.acme/nothing', '404 entry_not_found'],
    ['/servers?limit=0', '400 invalid_parameter'],
    ['/servers?cursor=x', '400 invalid_cursor'],
  ])('explains what is wrong with %s to members, and returns only 403 to others', async (path, wrong) => {
    expect(outcomeOf(await service.as(ACME_DATA).get(`/registry/acme/v0.1${path}`))).toBe(wrong);
    const reply = await service.as(CONTOSO_READER).get(`/registry/acme/v0.1${path}`);
    expect(outcomeOf(reply)).toBe('403 registry_forbidden');
  });

  it('does not admit a caller because of a role', async () => {
    const writer = { role: 'writer' };
    const member = { ...writer, org: 'acme' };
    expectOneClaimApart(member, writer);
    expect(outcomeOf(await service.as(writer).get('/registry/acme/v0.1/servers'))).toBe(
      '403 registry_forbidden',
    );
    expect(outcomeOf(await service.as(member).get('/registry/acme/v0.1/servers'))).toBe('200');
  });
});

describe('an unknown registry', () => {
  it.each([NOBODY, ACME_PLATFORM, SUPER_ADMIN])('is 404 for %j', async (caller) => {
    const reply = await service.as(caller).get('/registry/nowhere/v0.1/servers');
    expect(outcomeOf(reply)).toBe('404 registry_not_found');
  });
});

describe('a registry without claims', () => {
  it.each(['open', 'empty'])(
    'admits every caller to %s and still filters entries by claims',
    async (name) => {
      expect(serversIn(await service.as(NOBODY).get(`/registry/${name}/v0.1/servers`))).toEqual([]);
      expect(serversIn(await service.as(ACME_DATA).get(`/registry/${name}/v0.1/servers`))).toEqual([
        'io.acme/deploy',
      ]);
    },
  );

  it('still requires a token', async () => {
    expect(outcomeOf(await service.get('/registry/open/v0.1/servers'))).toBe('401 token_missing');
  });
});

describe('registries on a public path', () => {
  const service = aService({ mode: 'full', publicPaths: ['/registry', '/registry/*', '/v1/*'] })
    .source('tools', { claims: { org: 'acme' }, servers: [aServer('io.acme/deploy')] })
    .source('plain', { servers: [aServer('io.acme/plain')] })
    .registry('acme', { sources: ['tools', 'plain'], claims: { org: 'acme' } })
    .registry('open', { sources: ['tools', 'plain'] })
    .runs();

  it('treat a caller without a token as one without claims', async () => {
    expect(openRegistriesIn(await service.get('/registry'))).toEqual(['open']);
    expect(serversIn(await service.get('/registry/open/v0.1/servers'))).toEqual([]);
    expect(outcomeOf(await service.get('/registry/acme/v0.1/servers'))).toBe('403 registry_forbidden');
  });

  it('use the claims of a token that is sent, and refuse an invalid one', async () => {
    expect(serversIn(await service.as(ACME_DATA).get('/registry/acme/v0.1/servers'))).toEqual([
      'io.acme/deploy',
    ]);
    const reply = await service.bearing('no.such.token').get('/registry/open/v0.1/servers');
    expect(outcomeOf(reply)).toBe('401 token_invalid');
  });

  it('grant no role', async () => {
    for (const path of ['/v1/sources', '/v1/registries', '/v1/sources/plain', '/v1/registries/open/entries'])
      expect(outcomeOf(await service.get(path))).toBe('403 role_required');
    expect(outcomeOf(await service.put('/v1/registries/made', { sources: ['plain'] }))).toBe(
      '403 role_required',
    );
  });
});

describe('the list of registries', () => {
  it.each([
    [NOBODY, ['open', 'empty']],
    [CONTOSO_READER, ['open', 'empty', 'contoso']],
    [ACME_DATA, ['open', 'empty', 'acme']],
    [ACME_PLATFORM, ['platform', 'open', 'empty', 'acme']],
    [SUPER_ADMIN, ['platform', 'open', 'empty', 'contoso', 'acme']],
  ])('shows %j the registries whose gate they pass, in configuration order', async (caller, names) => {
    expect(openRegistriesIn(await service.as(caller).get('/registry'))).toEqual(names);
  });

  it('requires a token', async () => {
    expect(outcomeOf(await service.get('/registry'))).toBe('401 token_missing');
  });
});

describe('the claims of a registry', () => {
  const service = aService({ mode: 'full' }).source('tools', {
    claims: { org: 'acme' },
    servers: [aServer('io.acme/deploy')],
  });
  for (const [row, { required }] of CLAIMS_PAIRS.entries())
    service.registry(`pair-${row}`, { sources: ['tools'], claims: required });
  service.runs();
  const rows = CLAIMS_PAIRS.map((pair, row) => ({ ...pair, path: `/registry/pair-${row}/v0.1/servers` }));

  it.each(rows)('$rule: $required admits $covering', async ({ path, covering }) => {
    expect(outcomeOf(await service.as(covering).get(path))).toBe('200');
  });

  it.each(rows)('$rule: $required refuses $lacking', async ({ path, covering, lacking }) => {
    expectOneClaimApart(covering, lacking);
    expect(outcomeOf(await service.as(lacking).get(path))).toBe('403 registry_forbidden');
  });

  it.each(rows)('$rule: a super-admin passes without it', async ({ path }) => {
    expect(outcomeOf(await service.as(SUPER_ADMIN).get(path))).toBe('200');
  });
});
