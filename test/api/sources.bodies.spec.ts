import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../support/answers.js';
import { ACME_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import type { Headers, Reply } from '../support/http.js';
import { aService } from '../support/service.js';

/** The paths that the details of an `invalid_body` begin with. */
function problemsIn(reply: Reply): string[] {
  expect(outcomeOf(reply)).toBe('400 invalid_body');
  const { details } = reply.json as { details: string[] };
  return details.map((sentence) => /^[\w.[\]"]+(?=: )/.exec(sentence)?.[0] ?? '');
}

describe('the body of a source', () => {
  const folder = aFolder();
  const file = { path: folder.catalogue('made', [aServer('io.acme/made')]) };
  const syncPolicy = { interval: '1h' };
  const good = { file, syncPolicy, claims: { org: 'acme' } };
  const service = aService({ mode: 'full' })
    .source('tools', { claims: { org: 'acme' }, servers: [aServer('io.acme/a')] })
    .registry('tools', { sources: ['tools'], claims: { org: 'acme' } })
    .configuration({ adminFileRoot: folder.path })
    .runs();
  const admin = () => service.as(ACME_ADMIN);

  it.each([
    ['nothing but the kind', { managed: {} }],
    ['claims that are a list', { ...good, claims: { org: ['acme'] } }],
    ['an empty filter', { ...good, filter: {} }],
    ['every filter', { ...good, filter: { names: { include: ['*'], exclude: ['x?'] }, tags: { include: ['a'], exclude: [] } } }],
    ['reserved names', { managed: { names: [{ include: ['io.?cme/*'], claims: { org: 'acme' } }] } }],
    ['no claims', { file, syncPolicy }],
    ['what an answer shows', { ...good, kind: 'file', sync: { status: 'complete' } }],
  ])('may have %s', async (what, body) => {
    const name = `good-${what.replaceAll(' ', '-')}`;
    expect(outcomeOf(await admin().put(`/v1/sources/${name}`, body))).toBe('201');
    expect(outcomeOf(await admin().delete(`/v1/sources/${name}`))).toBe('204');
  }); // prettier-ignore

  // prettier-ignore
  it.each<[string, unknown, string]>([
    ['no kind', { syncPolicy }, ''],
    ['two kinds', { ...good, managed: {} }, ''],
    ['a kind that is null', { file: null, syncPolicy }, 'file'],
    ['a kind that is text', { file: file.path, syncPolicy }, 'file'],
    ['a kind that is a list', { file: [file], syncPolicy }, 'file'],
    ['a file without a place', { file: {}, syncPolicy }, 'file'],
    ['a file in two places', { file: { ...file, url: 'https://example.com/a.json' }, syncPolicy }, 'file'],
    ['a path that is a number', { file: { path: 1 }, syncPolicy }, 'file.path'],
    ['an empty path', { file: { path: '' }, syncPolicy }, 'file.path'],
    ['a path with a NUL', { file: { path: `${file.path}\0` }, syncPolicy }, 'file.path'],
    ['more settings than there are', { file: { ...file, mode: 'r' }, syncPolicy }, 'file.mode'],
    ['settings where there are none', { managed: { size: 1 } }, 'managed.size'],
    ['no interval', { file }, 'syncPolicy'],
    ['an empty policy', { file, syncPolicy: {} }, 'syncPolicy.interval'],
    ['an interval that is a number', { file, syncPolicy: { interval: 60 } }, 'syncPolicy.interval'],
    ['an interval that is none', { file, syncPolicy: { interval: 'often' } }, 'syncPolicy.interval'],
    ['an interval of nothing', { file, syncPolicy: { interval: '0s' } }, 'syncPolicy.interval'],
    ['an interval for what is not synced', { managed: {}, syncPolicy }, 'syncPolicy'],
    ['more in the policy', { file, syncPolicy: { interval: '1h', jitter: '1s' } }, 'syncPolicy.jitter'],
    ['a filter that is a list', { ...good, filter: ['io.acme/*'] }, 'filter'],
    ['a filter by something else', { ...good, filter: { owners: {} } }, 'filter.owners'],
    ['a pattern that is no list', { ...good, filter: { names: { include: '*' } } }, 'filter.names.include'],
    ['a pattern that is no text', { ...good, filter: { names: { include: ['a', 1] } } }, 'filter.names.include[1]'],
    ['a pattern with a set', { ...good, filter: { names: { include: ['*', 'io.[ab]cme/*'] } } }, 'filter.names.include[1]'],
    ['a tag with a set', { ...good, filter: { tags: { exclude: ['[a]'] } } }, 'filter.tags.exclude[0]'],
    ['reserved names with a set', { managed: { names: [{ include: ['io.[ab]cme/*'], claims: { org: 'acme' } }] } }, 'managed.names[0].include[0]'],
    ['claims that are a list', { ...good, claims: ['acme'] }, 'claims'],
    ['claims that are text', { ...good, claims: 'org=acme' }, 'claims'],
    ['claims that are null', { ...good, claims: null }, 'claims'],
    ['a claim that is a number', { ...good, claims: { level: 3 } }, 'claims.level'],
    ['a claim that is true', { ...good, claims: { staff: true } }, 'claims.staff'],
    ['a claim that is null', { ...good, claims: { org: null } }, 'claims.org'],
    ['a claim that is a map', { ...good, claims: { org: { name: 'acme' } } }, 'claims.org'],
    ['a claim that is an empty list', { ...good, claims: { org: [] } }, 'claims.org'],
    ['a claim with a list in a list', { ...good, claims: { org: [['acme']] } }, 'claims.org'],
    ['a claim with a number in a list', { ...good, claims: { org: ['acme', 1] } }, 'claims.org'],
    ['a claim that is about one token', { ...good, claims: { org: 'acme', jti: 'a' } }, 'claims.jti'],
    ['an unknown member', { ...good, colour: 'red' }, 'colour'],
    ['another name', { ...good, name: 'other' }, 'name'],
    ['its origin', { ...good, origin: 'config' }, 'origin'],
    ['another kind by name', { ...good, kind: 'git' }, 'kind'],
  ])('is refused with %s', async (_what, body, path) => {
    const problems = problemsIn(await admin().put('/v1/sources/refused', body));
    expect(problems).toContain(path);
    expect(outcomeOf(await admin().get('/v1/sources/refused'))).toBe('404 source_not_found');
  });

  it('is told all its problems at once', async () => {
    const body = {
      file: { path: 1, mode: 'r' },
      syncPolicy: { interval: 'x' },
      claims: { org: 1 },
      colour: 'red',
    };
    expect(problemsIn(await admin().put('/v1/sources/refused', body)).sort()).toEqual([
      'claims.org',
      'colour',
      'file.mode',
      'file.path',
      'syncPolicy.interval',
    ]);
  });

  it.each(['__proto__', ''])('is refused with a claim named %j', async (key) => {
    const body = JSON.stringify(good).replace('"org":', `"org":"acme",${JSON.stringify(key)}:`);
    expect(outcomeOf(await admin().put('/v1/sources/refused', body))).toBe('400 invalid_body');
  });

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'is refused with a member %s',
    async (key) => {
      const body = JSON.stringify(good).replace('{', `{${JSON.stringify(key)}:{"managed":{}},`);
      expect(outcomeOf(await admin().put('/v1/sources/refused', body))).toBe('400 invalid_body');
    },
  );

  const json = { 'Content-Type': 'application/json' };
  it.each<[string, string | undefined, Headers, string]>([
    ['no body', undefined, {}, '400 invalid_body'],
    ['an empty body', '', json, '400 invalid_body'],
    ['a list', '[]', json, '400 invalid_body'],
    ['half a document', '{"managed":{}', json, '400 malformed_json'],
    ['a document and more', '{"managed":{}} x', json, '400 malformed_json'],
    ['no JSON', 'managed: {}', json, '400 malformed_json'],
    ['text', JSON.stringify(good), { 'Content-Type': 'text/plain' }, '415 unsupported_media_type'],
    ['YAML', 'managed: {}', { 'Content-Type': 'application/yaml' }, '415 unsupported_media_type'],
    [
      'a form',
      'managed=1',
      { 'Content-Type': 'application/x-www-form-urlencoded' },
      '415 unsupported_media_type',
    ],
    ['a type of nobody', JSON.stringify(good), { 'Content-Type': 'nonsense' }, '415 unsupported_media_type'],
    [
      'another alphabet',
      JSON.stringify(good),
      { 'Content-Type': 'application/json; charset=koi8' },
      '415 unsupported_media_type',
    ],
    ['2 MB', JSON.stringify({ ...good, claims: { org: 'x'.repeat(2_000_000) } }), json, '413 body_too_large'],
  ])('is refused when it is %s', async (_what, body, headers, answer) => {
    expect(outcomeOf(await admin().put('/v1/sources/refused', body, headers))).toBe(answer);
    expect(outcomeOf(await admin().get('/v1/sources/refused'))).toBe('404 source_not_found');
  });

  it.each(['application/json; charset=utf-8', 'Application/JSON'])('may say it is %s', async (type) => {
    const reply = await admin().put('/v1/sources/typed', good, { 'Content-Type': type });
    expect(['200', '201']).toContain(outcomeOf(reply));
  });
});
