import { beforeAll, describe, expect, it } from 'vitest';
import { openRegistriesIn, outcomeOf, registriesIn, serversIn, sourcesIn } from '../support/answers.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { aService } from '../support/service.js';
import { aPublication, entryAt } from '../support/publishing.js';
import { expectOneClaimApart } from '../support/claims-pairs.js';

const admin = { org: 'acme', role: 'admin' };
const superAdmin = { org: 'acme', role: 'super-admin' };

const folder = aFolder();
const file = { path: folder.catalogue('made', [aServer('io.acme/made')]) };
const aSource = { file, syncPolicy: { interval: '1h' } };
const POLICIES = [
  { open: false, policy: { unlabeled: 'deny' } },
  { open: true, policy: {} },
].map(({ open, policy }) => ({
  open,
  policy,
  service: aService({ mode: 'full', policy })
    .source('plain', { servers: [aServer('io.acme/plain')] })
    .source('labelled', { claims: { org: 'acme' }, servers: [aServer('io.acme/labelled')] })
    .source('published', { kind: 'managed' })
    .registry('plain', { sources: ['labelled', 'plain'] })
    .registry('labelled', { sources: ['labelled', 'plain'], claims: { org: 'acme' } })
    .registry('main', { sources: ['published'] })
    .configuration({ adminFileRoot: folder.path })
    .runs(),
}));

describe.each(POLICIES)('sources and registries without claims, policy $policy', ({ open, service }) => {
  beforeAll(async () => {
    for (const name of ['changed', 'labelled-later', 'doomed', 'doomed-by-super']) {
      await service.as(SUPER_ADMIN).put(`/v1/sources/${name}`, aSource);
      await service.as(SUPER_ADMIN).put(`/v1/registries/${name}`, { sources: ['labelled'] });
    }
    for (const name of ['stripped', 'stripped-by-super']) {
      const claims = { org: 'acme' };
      await service.as(SUPER_ADMIN).put(`/v1/sources/${name}`, { ...aSource, claims });
      await service.as(SUPER_ADMIN).put(`/v1/registries/${name}`, { sources: ['labelled'], claims });
    }
  });

  const callers = [
    { who: 'an admin', caller: admin, passes: open },
    { who: 'a super-admin', caller: superAdmin, passes: true },
  ];
  const answer = (passes: boolean, good: string, refusal: string) => (passes ? good : refusal);

  it('are tested with callers that differ in one claim', () => expectOneClaimApart(superAdmin, admin));

  it.each(callers)('$who passes the gate: $passes', async ({ caller, passes }) => {
    const reply = await service.as(caller).get('/registry/plain/v0.1/servers');
    expect(outcomeOf(reply)).toBe(answer(passes, '200', '403 registry_forbidden'));
    const labelled = await service.as(caller).get('/registry/labelled/v0.1/servers');
    expect(outcomeOf(labelled)).toBe('200');
  });

  it.each(callers)('$who finds them in GET /registry: $passes', async ({ caller, passes }) => {
    const names = openRegistriesIn(await service.as(caller).get('/registry'));
    expect(names.includes('plain')).toBe(passes);
    expect(names).toContain('labelled');
  });

  it.each(callers)('$who finds them in the admin lists: $passes', async ({ caller, passes }) => {
    const sources = sourcesIn(await service.as(caller).get('/v1/sources'));
    expect([sources.includes('plain'), sources.includes('labelled')]).toEqual([passes, true]);
    const registries = registriesIn(await service.as(caller).get('/v1/registries'));
    expect([registries.includes('plain'), registries.includes('labelled')]).toEqual([passes, true]);
  });

  it.each(callers.flatMap((row) => ['', '/entries'].map((below) => ({ ...row, below }))))(
    '$who may GET NAME$below of the admin API: $passes',
    async ({ caller, passes, below }) => {
      const source = await service.as(caller).get(`/v1/sources/plain${below}`);
      expect(outcomeOf(source)).toBe(answer(passes, '200', '404 source_not_found'));
      const registry = await service.as(caller).get(`/v1/registries/plain${below}`);
      expect(outcomeOf(registry)).toBe(answer(passes, '200', '404 registry_not_found'));
    },
  );

  it.each(callers)('$who may start a sync: $passes', async ({ caller, passes }) => {
    const reply = await service.as(caller).post('/v1/sources/plain/sync');
    expect(outcomeOf(reply)).toBe(answer(passes, '202', '404 source_not_found'));
  });

  it.each(
    callers.flatMap((row) =>
      [aSource, { ...aSource, claims: {} }].map((body, form) => ({ ...row, body, form })),
    ),
  )(
    '$who may create a source without claims: $passes, form $form',
    async ({ who, caller, passes, body, form }) => {
      const name = `made-${who.replaceAll(' ', '-')}-${form}`;
      const reply = await service.as(caller).put(`/v1/sources/${name}`, body);
      expect(outcomeOf(reply)).toBe(answer(passes, '201', '400 claims_required'));
      const twin = await service
        .as(caller)
        .put(`/v1/sources/${name}-too`, { ...body, claims: { org: 'acme' } });
      expect(outcomeOf(twin)).toBe('201');
    },
  );

  it.each(callers)('$who may create a registry without claims: $passes', async ({ who, caller, passes }) => {
    const name = `made-${who.replaceAll(' ', '-')}`;
    const body = { sources: ['labelled'] };
    const reply = await service.as(caller).put(`/v1/registries/${name}`, body);
    expect(outcomeOf(reply)).toBe(answer(passes, '201', '400 claims_required'));
    const twin = await service
      .as(caller)
      .put(`/v1/registries/${name}-too`, { ...body, claims: { org: 'acme' } });
    expect(outcomeOf(twin)).toBe('201');
  });

  it.each(callers)('$who may use such a source in a registry: $passes', async ({ who, caller, passes }) => {
    const body = { sources: ['labelled', 'plain'], claims: { org: 'acme' } };
    const reply = await service.as(caller).put(`/v1/registries/of-plain-${who.replaceAll(' ', '-')}`, body);
    expect(outcomeOf(reply)).toBe(answer(passes, '201', '400 unknown_source'));
  });

  it('an admin may remove the claims only where unlabeled is allow', async () => {
    const source = await service.as(admin).put('/v1/sources/stripped', aSource);
    expect(outcomeOf(source)).toBe(answer(open, '200', '400 claims_required'));
    const registry = await service.as(admin).put('/v1/registries/stripped', { sources: ['labelled'] });
    expect(outcomeOf(registry)).toBe(answer(open, '200', '400 claims_required'));
  });

  it('a super-admin may remove the claims', async () => {
    const source = await service.as(superAdmin).put('/v1/sources/stripped-by-super', aSource);
    expect(outcomeOf(source)).toBe('200');
    const registry = await service
      .as(superAdmin)
      .put('/v1/registries/stripped-by-super', { sources: ['labelled'] });
    expect(outcomeOf(registry)).toBe('200');
  });

  it('an admin may add claims only where unlabeled is allow', async () => {
    const claims = { org: 'acme' };
    const source = await service.as(admin).put('/v1/sources/labelled-later', { ...aSource, claims });
    expect(outcomeOf(source)).toBe(answer(open, '200', '404 source_not_found'));
    const registry = await service
      .as(admin)
      .put('/v1/registries/labelled-later', { sources: ['labelled'], claims });
    expect(outcomeOf(registry)).toBe(answer(open, '200', '404 registry_not_found'));
  });

  it.each(callers)('$who may delete them: $passes', async ({ caller, passes }) => {
    const name = caller === admin ? 'doomed' : 'doomed-by-super';
    const registry = await service.as(caller).delete(`/v1/registries/${name}`);
    expect(outcomeOf(registry)).toBe(answer(passes, '204', '404 registry_not_found'));
    const source = await service.as(caller).delete(`/v1/sources/${name}`);
    expect(outcomeOf(source)).toBe(answer(passes, '204', '404 source_not_found'));
  });

  it('only super-admins see entries without claims, regardless of the policy', async () => {
    const path = '/registry/labelled/v0.1/servers';
    expect(serversIn(await service.as(admin).get(path))).toEqual(['io.acme/labelled']);
    expect(serversIn(await service.as(superAdmin).get(path))).toEqual(['io.acme/labelled', 'io.acme/plain']);
  });
});

const writer = { org: 'acme', role: 'writer' };

describe.each(POLICIES)('published entries without claims, policy $policy', ({ open, service }) => {
  const callers = [
    { who: 'a publisher', caller: writer, passes: open },
    { who: 'a super-admin', caller: superAdmin, passes: true },
  ];
  const answer = (passes: boolean, good: string, refusal = '404 entry_not_found') =>
    passes ? good : refusal;

  async function anEntry(name: string, claims = {}): Promise<string> {
    const reply = await service.as(superAdmin).post('/v1/entries', aPublication('server', name, claims));
    expect(outcomeOf(reply)).toBe('201');
    return name;
  }

  it('are tested with callers that differ in one claim', () => expectOneClaimApart(superAdmin, writer));

  it.each(callers)('$who finds them in GET /v1/entries: $passes', async ({ who, caller, passes }) => {
    const name = await anEntry(`io.listed/${who.replaceAll(' ', '-')}`);
    const labelled = await anEntry(`${name}-too`, { org: 'acme' });
    const { entries } = (await service.as(caller).get('/v1/entries')).json as { entries: { name: string }[] };
    const names = entries.map((entry) => entry.name);
    expect([names.includes(name), names.includes(labelled)]).toEqual([passes, true]);
  });

  it.each(callers)('$who may read, change and delete them: $passes', async ({ who, caller, passes }) => {
    const name = await anEntry(`io.managed/${who.replaceAll(' ', '-')}`);
    const labelled = await anEntry(`${name}-too`, { org: 'acme' });
    for (const [entry, may] of [
      [name, passes],
      [labelled, true],
    ] as const) {
      const at = (below: string) => entryAt('server', entry, below);
      const as = service.as(caller);
      for (const below of ['', '/claims', '/versions/1.0.0'])
        expect(outcomeOf(await as.get(at(below))), below).toBe(answer(may, '200'));
      const status = { status: 'deprecated' };
      expect(outcomeOf(await as.send('PATCH', at('/status'), { body: status }))).toBe(answer(may, '200'));
      const one = await as.send('PATCH', at('/versions/1.0.0/status'), { body: status });
      expect(outcomeOf(one)).toBe(answer(may, '200'));
      const claims = { claims: { org: 'acme' } };
      expect(outcomeOf(await as.put(at('/claims'), claims))).toBe(answer(may, '204'));
      expect(outcomeOf(await as.delete(at('/versions/1.0.0')))).toBe(answer(may, '204'));
    }
  });

  it.each(callers)('$who may clear the claims of an entry: $passes', async ({ who, caller, passes }) => {
    const name = await anEntry(`io.cleared/${who.replaceAll(' ', '-')}`, { org: 'acme' });
    const set = (claims: object) => service.as(caller).put(entryAt('server', name, '/claims'), { claims });
    expect(outcomeOf(await set({}))).toBe(answer(passes, '204', '400 claims_required'));
    expect(outcomeOf(await set({ org: 'acme' }))).toBe('204');
  });
});
