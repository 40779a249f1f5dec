import { beforeAll, describe, expect, it } from 'vitest';
import { outcomeOf } from '../support/answers.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import type { Headers } from '../support/http.js';
import { aService } from '../support/service.js';
import { expectOneClaimApart } from '../support/claims-pairs.js';

const admin = { org: 'acme', role: 'admin' };
const json = { 'Content-Type': 'application/json' };

const folder = aFolder();
const file = { path: folder.catalogue('made', [aServer('io.acme/made')]) };
const claims = { org: 'acme' };
const service = aService({ mode: 'full' })
  .source('tools', { claims, servers: [aServer('io.acme/a')] })
  .source('hidden', { claims: { org: 'contoso' }, servers: [aServer('com.contoso/a')] })
  .registry('tools', { sources: ['tools'], claims })
  .registry('hidden', { sources: ['hidden'], claims: { org: 'contoso' } })
  .configuration({ adminFileRoot: folder.path })
  .runs();

/** reference/errors: token, role, load or 404, read-only 403, body, write. */
describe.each([
  { noun: 'sources', notFound: '404 source_not_found' },
  { noun: 'registries', notFound: '404 registry_not_found' },
])('order of the checks for $noun', ({ noun, notFound }) => {
  const good = noun === 'sources' ? { file, syncPolicy: { interval: '1h' } } : { sources: ['tools'] };
  beforeAll(async () => {
    const caller = service.as(SUPER_ADMIN);
    await caller.put(`/v1/${noun}/made`, { ...good, claims });
    await caller.put(`/v1/${noun}/doomed`, { ...good, claims });
    await caller.put(`/v1/${noun}/hidden-made`, { ...good, claims: { org: 'contoso' } });
    if (noun === 'sources') {
      await caller.put('/v1/sources/used', { ...good, claims });
      await caller.put('/v1/registries/using', { sources: ['used'] });
    }
  });

  const defects: { what: string; body: unknown; headers?: Headers; answer: string }[] = [
    { what: 'malformed JSON', body: '{"claims":', headers: json, answer: '400 malformed_json' },
    { what: 'another content type', body: 'sources: []', headers: { 'Content-Type': 'application/yaml' }, answer: '415 unsupported_media_type' },
    { what: 'an unsupported charset', body: '{}', headers: { 'Content-Type': 'application/json; charset=koi8' }, answer: '415 unsupported_media_type' },
    { what: 'no body', body: undefined, answer: '400 invalid_body' },
    { what: 'a body over the limit', body: { ...good, claims: { org: 'x'.repeat(2_000_000) } }, answer: '413 body_too_large' },
    { what: 'an unknown key', body: { ...good, colour: 'red' }, answer: '400 invalid_body' },
    { what: 'a wrong type', body: { ...good, claims: 'acme' }, answer: '400 invalid_body' },
    { what: 'too many claim values', body: { ...good, claims: { org: Array.from({ length: 1_001 }, (_, n) => `v${n}`) } }, answer: '400 too_many_claims' },
    { what: 'claims beyond the token’s', body: { ...good, claims: { org: 'contoso' } }, answer: '400 claims_not_subset' },
  ]; // oxfmt-ignore
  if (noun === 'sources')
    defects.push(
      { what: 'a file outside adminFileRoot', body: { ...good, file: { path: '/etc/passwd' } }, answer: '400 path_not_allowed' },
      { what: 'an invalid interval', body: { ...good, syncPolicy: { interval: 'x' } }, answer: '400 invalid_body' },
    ); // oxfmt-ignore
  else
    defects.push(
      { what: 'an unknown source', body: { sources: ['nowhere'] }, answer: '400 unknown_source' },
      { what: 'a hidden source', body: { sources: ['hidden'] }, answer: '400 unknown_source' },
    );

  const put = (who: object | null, name: string, { body, headers = {} }: (typeof defects)[number]) =>
    (who ? service.as({ ...who }) : service).put(`/v1/${noun}/${name}`, body, headers);

  const allNames = ['tools', 'hidden', 'made', 'fresh', 'No_Name'];
  const namesFor = (defect: object) => (defect === defects[0] ? allNames : ['made']);

  it.each(defects)('401 comes first: $what', async (defect) => {
    for (const name of namesFor(defect))
      expect(outcomeOf(await put(null, name, defect))).toBe('401 token_missing');
  });

  it.each(defects)('403 role_required comes second: $what', async (defect) => {
    const writer = { ...admin, role: 'writer' };
    expectOneClaimApart(admin, writer);
    for (const name of namesFor(defect))
      expect(outcomeOf(await put(writer, name, defect))).toBe('403 role_required');
  });

  it.each(defects)('404 for a hidden name comes third: $what', async (defect) => {
    expect(outcomeOf(await put(admin, 'hidden', defect))).toBe(notFound);
    expect(outcomeOf(await put(admin, 'hidden-made', defect))).toBe(notFound);
  });

  it.each(defects)('403 config_managed comes fourth: $what', async (defect) => {
    expect(outcomeOf(await put(admin, 'tools', defect))).toBe('403 config_managed');
  });

  it.each(defects)('errors of the body come last: $what returns $answer', async (defect) => {
    expect(outcomeOf(await put(admin, 'made', defect))).toBe(defect.answer);
    expect(outcomeOf(await put(admin, 'fresh', defect))).toBe(defect.answer);
    expect(outcomeOf(await service.as(SUPER_ADMIN).get(`/v1/${noun}/fresh`))).toBe(notFound);
  });

  it('lets a valid request pass', async () => {
    const right = { what: 'nothing', body: { ...good, claims }, answer: '200' };
    expect(outcomeOf(await put(admin, 'made', right))).toBe('200');
    expect(outcomeOf(await put(admin, 'made-too', right))).toBe('201');
  });

  const rows = [
    { method: 'GET', below: '', config: '200', made: '200' },
    { method: 'GET', below: '/entries', config: '200', made: '200' },
    ...(noun === 'sources' ? [{ method: 'POST', below: '/sync', config: '202', made: '202' }] : []),
    { method: 'DELETE', below: '', config: '403 config_managed', made: '204' },
  ];

  it.each(rows)(
    '$method NAME$below checks token, role, 404, config_managed',
    async ({ method, below, config, made }) => {
      const path = (name: string) => `/v1/${noun}/${name}${below}`;
      const writer = service.as({ ...admin, role: 'writer' });
      for (const name of ['tools', 'hidden', 'nowhere', 'No_Name']) {
        expect(outcomeOf(await service.send(method, path(name)))).toBe('401 token_missing');
        expect(outcomeOf(await writer.send(method, path(name)))).toBe('403 role_required');
      }
      for (const name of ['hidden', 'hidden-made', 'nowhere', 'No_Name'])
        expect(outcomeOf(await service.as(admin).send(method, path(name)))).toBe(notFound);
      expect(outcomeOf(await service.as(admin).send(method, path('tools')))).toBe(config);
      expect(outcomeOf(await service.as(admin).send(method, path('doomed')))).toBe(made);
    },
  );

  it('is token, role, query for a list', async () => {
    const path = `/v1/${noun}?limit=0`;
    expect(outcomeOf(await service.get(path))).toBe('401 token_missing');
    expect(outcomeOf(await service.as({ ...admin, role: 'writer' }).get(path))).toBe('403 role_required');
    expect(outcomeOf(await service.as(admin).get(path))).toBe('400 invalid_parameter');
    expect(outcomeOf(await service.as(admin).get(`/v1/${noun}/hidden/entries?limit=0`))).toBe(notFound);
    expect(outcomeOf(await service.as(admin).get(`/v1/${noun}/tools/entries?limit=0`))).toBe(
      '400 invalid_parameter',
    );
  });

  if (noun === 'sources')
    it('409 source_in_use comes after token, role, 404 and config_managed', async () => {
      const path = '/v1/sources/used';
      expect(outcomeOf(await service.delete(path))).toBe('401 token_missing');
      expect(outcomeOf(await service.as({ ...admin, role: 'writer' }).delete(path))).toBe(
        '403 role_required',
      );
      expect(outcomeOf(await service.as({ ...admin, org: 'contoso' }).delete(path))).toBe(
        '404 source_not_found',
      );
      expect(outcomeOf(await service.as(admin).delete(path))).toBe('409 source_in_use');
      expect(outcomeOf(await service.as(admin).delete('/v1/sources/tools'))).toBe('403 config_managed');
    });
});
