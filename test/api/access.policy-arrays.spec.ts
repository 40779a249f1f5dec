import { beforeAll, describe, expect, it } from 'vitest';
import { openRegistriesIn, outcomeOf, registriesIn, serversIn, sourcesIn } from '../support/answers.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { addManaged } from '../support/managed-entries.js';
import { aService } from '../support/service.js';
import { expectOneClaimApart } from '../support/claims-pairs.js';

const BOTH_TEAMS = { org: 'acme', team: ['platform', 'data'] };
const inBoth = { org: 'acme', role: 'admin', team: ['data', 'platform', 'web'] };
const inOne = { org: 'acme', role: 'admin', team: 'data' };
const inNone = { org: 'acme', role: 'admin', team: 'web' };

/** reference/access: reads follow `arrayValues`; writes always require all values. */
const READERS_OF = {
  all: [
    { who: 'both', caller: inBoth, reads: true, grants: true },
    { who: 'one', caller: inOne, reads: false, grants: false },
    { who: 'none', caller: inNone, reads: false, grants: false },
  ],
  any: [
    { who: 'both', caller: inBoth, reads: true, grants: true },
    { who: 'one', caller: inOne, reads: true, grants: false },
    { who: 'none', caller: inNone, reads: false, grants: false },
  ],
};

describe.each([
  { means: 'any', policy: { arrayValues: 'any' } },
  { means: 'all', policy: {} },
] as const)('a resource claim with two values, policy $policy', ({ means, policy }) => {
  const folder = aFolder();
  const file = { path: folder.catalogue('made', [aServer('io.acme/made')]) };
  const aSource = { file, syncPolicy: { interval: '1h' }, claims: BOTH_TEAMS };
  const aView = { sources: ['plain'], claims: BOTH_TEAMS };
  const service = aService({ mode: 'full', policy })
    .source('plain', { servers: [aServer('io.acme/plain')] })
    .source('joint', { claims: BOTH_TEAMS, servers: [aServer('io.acme/joint')] })
    .source('published', { kind: 'managed', claims: BOTH_TEAMS })
    .registry('joint', { sources: ['joint'], claims: BOTH_TEAMS })
    .registry('open', { sources: ['joint', 'published'] })
    .configuration({ adminFileRoot: folder.path })
    .runs();
  const readers = READERS_OF[means];

  beforeAll(async () => {
    await addManaged(service, 'published', [{ server: aServer('io.acme/published'), claims: BOTH_TEAMS }]);
    for (const { who } of readers)
      for (const fate of ['kept', 'narrowed', 'doomed']) {
        await service.as(SUPER_ADMIN).put(`/v1/sources/${fate}-${who}`, aSource);
        await service.as(SUPER_ADMIN).put(`/v1/registries/${fate}-${who}`, aView);
      }
  });

  it('is tested with callers that differ in one claim', () => {
    expectOneClaimApart(inBoth, inOne);
    expectOneClaimApart(inOne, inNone);
  });

  it.each(readers)('caller with $who of the values passes the gate: $reads', async ({ caller, reads }) => {
    const reply = await service.as(caller).get('/registry/joint/v0.1/servers');
    expect(outcomeOf(reply)).toBe(reads ? '200' : '403 registry_forbidden');
  });

  it.each(readers)(
    'caller with $who of the values finds the registry in GET /registry: $reads',
    async ({ caller, reads }) => {
      const names = openRegistriesIn(await service.as(caller).get('/registry'));
      expect(names.includes('joint')).toBe(reads);
    },
  );

  it.each(readers)(
    'caller with $who of the values sees the entries of the source: $reads',
    async ({ caller, reads }) => {
      const shown = serversIn(await service.as(caller).get('/registry/open/v0.1/servers'));
      expect(shown.includes('io.acme/joint')).toBe(reads);
    },
  );

  it.each(readers)(
    'caller with $who of the values sees the published entry: $reads',
    async ({ caller, reads }) => {
      const path = '/registry/open/v0.1/servers/io.acme%2Fpublished/versions/latest';
      expect(outcomeOf(await service.as(caller).get(path))).toBe(reads ? '200' : '404 entry_not_found');
    },
  );

  it.each(readers)(
    'caller with $who of the values finds the resource in the admin lists: $reads',
    async ({ caller, reads }) => {
      expect(sourcesIn(await service.as(caller).get('/v1/sources')).includes('joint')).toBe(reads);
      expect(registriesIn(await service.as(caller).get('/v1/registries')).includes('joint')).toBe(reads);
    },
  );

  it.each(readers.flatMap((row) => ['', '/entries'].map((below) => ({ ...row, below }))))(
    'caller with $who of the values may GET NAME$below of the admin API: $reads',
    async ({ caller, reads, below }) => {
      const source = await service.as(caller).get(`/v1/sources/joint${below}`);
      expect(outcomeOf(source)).toBe(reads ? '200' : '404 source_not_found');
      const registry = await service.as(caller).get(`/v1/registries/joint${below}`);
      expect(outcomeOf(registry)).toBe(reads ? '200' : '404 registry_not_found');
    },
  );

  it.each(readers)('caller with $who of the values may start a sync: $reads', async ({ caller, reads }) => {
    const reply = await service.as(caller).post('/v1/sources/joint/sync');
    expect(outcomeOf(reply)).toBe(reads ? '202' : '404 source_not_found');
  });

  it.each(readers)(
    'caller with $who of the values may create a resource with both: $grants',
    async ({ caller, who, grants }) => {
      const made = grants ? '201' : '400 claims_not_subset';
      expect(outcomeOf(await service.as(caller).put(`/v1/sources/made-${who}`, aSource))).toBe(made);
      expect(outcomeOf(await service.as(caller).put(`/v1/registries/made-${who}`, aView))).toBe(made);
    },
  );

  it.each(readers)(
    'caller with $who of the values may replace the resource, keeping both: $grants',
    async ({ caller, who, reads, grants }) => {
      const answer = (noun: string) =>
        grants ? '200' : reads ? '400 claims_not_subset' : `404 ${noun}_not_found`;
      const source = await service.as(caller).put(`/v1/sources/kept-${who}`, aSource);
      expect(outcomeOf(source)).toBe(answer('source'));
      const registry = await service.as(caller).put(`/v1/registries/kept-${who}`, aView);
      expect(outcomeOf(registry)).toBe(answer('registry'));
    },
  );

  it.each(readers)(
    'caller with $who of the values may replace the claims with their own: $reads',
    async ({ caller, who, reads }) => {
      const claims = { org: caller.org, team: caller.team };
      const source = await service.as(caller).put(`/v1/sources/narrowed-${who}`, { ...aSource, claims });
      expect(outcomeOf(source)).toBe(reads ? '200' : '404 source_not_found');
      const registry = await service.as(caller).put(`/v1/registries/narrowed-${who}`, { ...aView, claims });
      expect(outcomeOf(registry)).toBe(reads ? '200' : '404 registry_not_found');
    },
  );

  it.each(readers)(
    'caller with $who of the values may delete the resource: $reads',
    async ({ caller, who, reads }) => {
      const registry = await service.as(caller).delete(`/v1/registries/doomed-${who}`);
      expect(outcomeOf(registry)).toBe(reads ? '204' : '404 registry_not_found');
      const source = await service.as(caller).delete(`/v1/sources/doomed-${who}`);
      expect(outcomeOf(source)).toBe(reads ? '204' : '404 source_not_found');
    },
  );
});
