import { beforeAll, describe, expect, it } from 'vitest';
import { outcomeOf, serversIn, skillsIn } from '../support/answers.js';
import { ACME_DATA, ACME_PLATFORM, CONTOSO_READER, SUPER_ADMIN } from '../support/callers.js';
import { aServer, aSkill } from '../support/documents.js';
import { addManaged } from '../support/managed-entries.js';
import { cursorIn, versionsIn } from '../support/matchers.js';
import { aService } from '../support/service.js';
import { expectOneClaimApart, SELECTED_PAIRS } from '../support/claims-pairs.js';

const LIST = '/registry/acme/v0.1/servers';
const SKILLS = '/registry/acme/v0.1/x/dev.toolhive/skills';

const synced = aService({ mode: 'full' })
  .source('platform', {
    claims: { org: 'acme', team: 'platform' },
    servers: [aServer('io.acme/deploy'), aServer('io.acme/deploy', '1.1.0')],
    skills: [aSkill('io.acme/review')],
  })
  .source('shared', {
    claims: { org: 'acme' },
    servers: [aServer('io.acme/wiki')],
    skills: [aSkill('io.acme/write')],
  })
  .source('internal', {
    claims: { org: 'acme', team: 'platform' },
    servers: [aServer('io.acme/both', '2.0.0')],
  })
  .source('outside', { claims: { org: 'acme' }, servers: [aServer('io.acme/both', '1.0.0')] })
  .registry('acme', { sources: ['platform', 'shared'], claims: { org: 'acme' } })
  .registry('both', { sources: ['internal', 'outside'] })
  .runs();

describe('entries with the claims of one team', () => {
  const service = synced;

  it('are listed for members of the team', async () => {
    expectOneClaimApart(ACME_PLATFORM, { ...ACME_DATA, sub: ACME_PLATFORM.sub });
    expect(serversIn(await service.as(ACME_PLATFORM).get(LIST))).toEqual(['io.acme/deploy', 'io.acme/wiki']);
    expect(skillsIn(await service.as(ACME_PLATFORM).get(SKILLS))).toEqual([
      'io.acme/review',
      'io.acme/write',
    ]);
  });

  it('are absent from the lists of another team', async () => {
    expect(serversIn(await service.as(ACME_DATA).get(LIST))).toEqual(['io.acme/wiki']);
    expect(skillsIn(await service.as(ACME_DATA).get(SKILLS))).toEqual(['io.acme/write']);
  });

  it.each([
    'search=deploy',
    'version=1.1.0',
    'version=latest&search=deploy',
    'updated_since=2020-01-01T00:00:00Z&search=deploy',
  ])('are not found by another team with %s', async (query) => {
    expect(serversIn(await service.as(ACME_DATA).get(`${LIST}?${query}`))).toEqual([]);
    expect(serversIn(await service.as(ACME_PLATFORM).get(`${LIST}?${query}`))).toEqual(['io.acme/deploy']);
  });

  const byName = [
    `${LIST}/io.acme%2Fdeploy/versions`,
    `${LIST}/io.acme%2Fdeploy/versions/1.0.0`,
    `${LIST}/io.acme%2Fdeploy/versions/latest`,
    `${SKILLS}/io.acme/review`,
    `${SKILLS}/io.acme/review/versions`,
    `${SKILLS}/io.acme/review/versions/1.0.0`,
  ];

  it.each(byName)('return 200 to a member at %s', async (path) => {
    expect(outcomeOf(await service.as(ACME_PLATFORM).get(path))).toBe('200');
  });

  it('are shown only to members, even when others read the same names at the same time', async () => {
    const names = [
      'deploy/versions/1.0.0',
      'deploy/versions/1.1.0',
      'wiki/versions/1.0.0',
      'wiki/versions/9.9.9',
    ];
    const outcomesFor = (caller: typeof ACME_DATA) =>
      Promise.all(
        // No other test reads these pages, so they are not cached.
        names.map(async (name) =>
          outcomeOf(await service.as(caller).get(`${LIST}/io.acme%2F${name}?include_deleted=true`)),
        ),
      );
    expect(await Promise.all([outcomesFor(ACME_PLATFORM), outcomesFor(ACME_DATA)])).toEqual([
      ['200', '200', '200', '404 version_not_found'],
      ['404 entry_not_found', '404 entry_not_found', '200', '404 version_not_found'],
    ]);
  });

  it.each(byName)('return the same 404 as missing entries to another team at %s', async (path) => {
    const absent = path.replace('deploy', 'nowhere').replace('review', 'nowhere');
    const [hidden, missing] = await Promise.all([
      service.as(ACME_DATA).get(path),
      service.as(ACME_DATA).get(absent),
    ]);
    expect(outcomeOf(hidden)).toBe('404 entry_not_found');
    expect(withoutId(hidden.json)).toEqual(withoutId(missing.json));
  });

  it.each([...byName, LIST, SKILLS])('are visible to super-admins at %s', async (path) => {
    expect(outcomeOf(await service.as(SUPER_ADMIN).get(path))).toBe('200');
  });

  it('are visible to a member of several teams', async () => {
    const both = { org: 'acme', team: ['data', 'platform'] };
    expect(serversIn(await service.as(both).get(LIST))).toEqual(['io.acme/deploy', 'io.acme/wiki']);
  });

  it("stay hidden from a request with another caller's cursor", async () => {
    const first = await service.as(SUPER_ADMIN).get(`${LIST}?limit=1`);
    expect(versionsIn(first)).toEqual(['io.acme/deploy@1.1.0']);
    const next = `${LIST}?limit=1&cursor=${cursorIn(first)}`;
    expect(versionsIn(await service.as(ACME_PLATFORM).get(next))).toEqual(['io.acme/deploy@1.0.0']);
    expect(versionsIn(await service.as(ACME_DATA).get(next))).toEqual(['io.acme/wiki@1.0.0']);
    expect(outcomeOf(await service.as(CONTOSO_READER).get(next))).toBe('403 registry_forbidden');
  });

  it('have one ETag per view: equal views share it, different views do not', async () => {
    const etag = async (caller: Record<string, unknown>) =>
      (await service.as(caller).get(LIST)).headers['etag'];
    expect(await etag(ACME_DATA)).not.toBe(await etag(ACME_PLATFORM));
    expect(await etag({ org: 'acme', team: 'web' })).toBe(await etag(ACME_DATA));
  });

  it('return 304 only to callers who see the same', async () => {
    const { headers } = await service.as(ACME_PLATFORM).get(LIST);
    const known = { 'If-None-Match': String(headers['etag']) };
    expect((await service.as(ACME_PLATFORM).get(LIST, known)).status).toBe(304);
    expect(serversIn(await service.as(ACME_DATA).get(LIST, known))).toEqual(['io.acme/wiki']);
  });
});

describe('a name in two sources with different claims', () => {
  const service = synced;
  const list = '/registry/both/v0.1/servers';
  const versions = `${list}/io.acme%2Fboth/versions`;

  it('comes from the first source for callers who see it there', async () => {
    expect(versionsIn(await service.as(ACME_PLATFORM).get(list))).toEqual(['io.acme/both@2.0.0']);
    expect(outcomeOf(await service.as(ACME_PLATFORM).get(`${versions}/1.0.0`))).toBe('404 version_not_found');
  });

  it('comes from the next source for callers who do not', async () => {
    expect(versionsIn(await service.as(ACME_DATA).get(list))).toEqual(['io.acme/both@1.0.0']);
    expect(versionsIn(await service.as(ACME_DATA).get(versions))).toEqual(['io.acme/both@1.0.0']);
    expect(outcomeOf(await service.as(ACME_DATA).get(`${versions}/2.0.0`))).toBe('404 version_not_found');
    expect(outcomeOf(await service.as(ACME_DATA).get(`${versions}/1.0.0`))).toBe('200');
  });

  it('is 404 for callers who see neither', async () => {
    expect(versionsIn(await service.as(CONTOSO_READER).get(list))).toEqual([]);
    expect(outcomeOf(await service.as(CONTOSO_READER).get(versions))).toBe('404 entry_not_found');
  });
});

describe('entries without claims', () => {
  const service = aService({ mode: 'full' })
    .source('plain', { servers: [aServer('io.acme/plain')], skills: [aSkill('io.acme/plain')] })
    .source('managed', { kind: 'managed', claims: { org: 'acme' } })
    .registry('acme', { sources: ['plain', 'managed'] })
    .runs();
  beforeAll(() => addManaged(service, 'managed', [{ server: aServer('io.acme/cleared'), claims: {} }]));

  it.each([{}, ACME_DATA, { ...SUPER_ADMIN, role: 'admin' }])('are hidden from %j', async (caller) => {
    expect(serversIn(await service.as(caller).get(LIST))).toEqual([]);
    expect(skillsIn(await service.as(caller).get(SKILLS))).toEqual([]);
    expect(outcomeOf(await service.as(caller).get(`${LIST}/io.acme%2Fplain/versions`))).toBe(
      '404 entry_not_found',
    );
    expect(outcomeOf(await service.as(caller).get(`${LIST}/io.acme%2Fcleared/versions`))).toBe(
      '404 entry_not_found',
    );
  });

  it('are visible to super-admins', async () => {
    expect(serversIn(await service.as(SUPER_ADMIN).get(LIST))).toEqual(['io.acme/cleared', 'io.acme/plain']);
    expect(skillsIn(await service.as(SUPER_ADMIN).get(SKILLS))).toEqual(['io.acme/plain']);
  });
});

describe('the claims of a published entry', () => {
  const rows = SELECTED_PAIRS.map((pair, row) => ({ ...pair, name: `io.acme/pair-${row}` }));
  const service = aService({ mode: 'full' })
    .source('managed', { kind: 'managed', claims: { org: 'nobody has this' } })
    .registry('acme', { sources: ['managed'] })
    .runs();
  beforeAll(() =>
    addManaged(
      service,
      'managed',
      rows.map(({ name, required }) => ({ server: aServer(name), claims: required })),
    ),
  );
  const all = `${LIST}?limit=100`;

  it.each(rows)('$rule: $required shows it to $covering', async ({ name, covering }) => {
    expect(serversIn(await service.as(covering).get(all))).toContain(name);
    const path = `${LIST}/${encodeURIComponent(name)}/versions/1.0.0`;
    expect(outcomeOf(await service.as(covering).get(path))).toBe('200');
  });

  it.each(rows)('$rule: $required hides it from $lacking', async ({ name, covering, lacking }) => {
    expectOneClaimApart(covering, lacking);
    expect(serversIn(await service.as(lacking).get(all))).not.toContain(name);
    const path = `${LIST}/${encodeURIComponent(name)}/versions/1.0.0`;
    expect(outcomeOf(await service.as(lacking).get(path))).toBe('404 entry_not_found');
  });

  it('alone decide: claims of the managed source do not hide it', async () => {
    expect(serversIn(await service.as(SUPER_ADMIN).get(all))).toHaveLength(rows.length);
  });
});

function withoutId(body: unknown): unknown {
  return { ...(body as object), requestId: '' };
}
