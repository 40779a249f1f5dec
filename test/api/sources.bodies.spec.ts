import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../support/answers.js';
import { ACME_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import type { Headers, Reply } from '../support/http.js';
import { aService } from '../support/service.js';

/** The paths at the start of each `invalid_body` detail. */
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
    ['only the kind', { managed: {} }],
    ['claims with arrays', { ...good, claims: { org: ['acme'] } }],
    ['an empty filter', { ...good, filter: {} }],
    ['a complete filter', { ...good, filter: { names: { include: ['*'], exclude: ['x?'] }, tags: { include: ['a'], exclude: [] } } }],
    ['reserved names', { managed: { names: [{ include: ['io.?cme/*'], claims: { org: 'acme' } }] } }],
    ['no claims', { file, syncPolicy }],
    ['the members of a response', { ...good, kind: 'file', sync: { status: 'complete' } }],
  ])('may have %s', async (what, body) => {
    const name = `good-${what.replaceAll(' ', '-')}`;
    expect(outcomeOf(await admin().put(`/v1/sources/${name}`, body))).toBe('201');
    expect(outcomeOf(await admin().delete(`/v1/sources/${name}`))).toBe('204');
  }); // oxfmt-ignore

  // oxfmt-ignore
  it.each<[string, unknown, string]>([
    ['no kind', { syncPolicy }, ''],
    ['two kinds', { ...good, managed: {} }, ''],
    ['a kind that is null', { file: null, syncPolicy }, 'file'],
    ['a kind that is a string', { file: file.path, syncPolicy }, 'file'],
    ['a kind that is an array', { file: [file], syncPolicy }, 'file'],
    ['a file without location', { file: {}, syncPolicy }, 'file'],
    ['a file with two locations', { file: { ...file, url: 'https://example.com/a.json' }, syncPolicy }, 'file'],
    ['a path that is a number', { file: { path: 1 }, syncPolicy }, 'file.path'],
    ['an empty path', { file: { path: '' }, syncPolicy }, 'file.path'],
    ['a path with a NUL', { file: { path: `${file.path}\0` }, syncPolicy }, 'file.path'],
    ['unknown settings', { file: { ...file, mode: 'r' }, syncPolicy }, 'file.mode'],
    ['settings for a kind that has none', { managed: { size: 1 } }, 'managed.size'],
    ['no interval', { file }, 'syncPolicy'],
    ['an empty syncPolicy', { file, syncPolicy: {} }, 'syncPolicy.interval'],
    ['an interval that is a number', { file, syncPolicy: { interval: 60 } }, 'syncPolicy.interval'],
    ['an invalid interval', { file, syncPolicy: { interval: 'often' } }, 'syncPolicy.interval'],
    ['an interval of zero', { file, syncPolicy: { interval: '0s' } }, 'syncPolicy.interval'],
    ['an interval for the managed source', { managed: {}, syncPolicy }, 'syncPolicy'],
    ['unknown members in syncPolicy', { file, syncPolicy: { interval: '1h', jitter: '1s' } }, 'syncPolicy.jitter'],
    ['a filter that is an array', { ...good, filter: ['io.acme/*'] }, 'filter'],
    ['an unknown filter', { ...good, filter: { owners: {} } }, 'filter.owners'],
    ['a pattern list that is a string', { ...good, filter: { names: { include: '*' } } }, 'filter.names.include'],
    ['a pattern that is not a string', { ...good, filter: { names: { include: ['a', 1] } } }, 'filter.names.include[1]'],
    ['a pattern with [', { ...good, filter: { names: { include: ['*', 'io.[ab]cme/*'] } } }, 'filter.names.include[1]'],
    ['a tag pattern with [', { ...good, filter: { tags: { exclude: ['[a]'] } } }, 'filter.tags.exclude[0]'],
    ['reserved names with [', { managed: { names: [{ include: ['io.[ab]cme/*'], claims: { org: 'acme' } }] } }, 'managed.names[0].include[0]'],
    ['claims that are an array', { ...good, claims: ['acme'] }, 'claims'],
    ['claims that are a string', { ...good, claims: 'org=acme' }, 'claims'],
    ['claims that are null', { ...good, claims: null }, 'claims'],
    ['a claim that is a number', { ...good, claims: { level: 3 } }, 'claims.level'],
    ['a claim that is a boolean', { ...good, claims: { staff: true } }, 'claims.staff'],
    ['a claim that is null', { ...good, claims: { org: null } }, 'claims.org'],
    ['a claim that is an object', { ...good, claims: { org: { name: 'acme' } } }, 'claims.org'],
    ['a claim that is an empty array', { ...good, claims: { org: [] } }, 'claims.org'],
    ['a claim with a nested array', { ...good, claims: { org: [['acme']] } }, 'claims.org'],
    ['a claim with a number in an array', { ...good, claims: { org: ['acme', 1] } }, 'claims.org'],
    ['a claim that belongs to a token (exp)', { ...good, claims: { org: 'acme', jti: 'a' } }, 'claims.jti'],
    ['an unknown member', { ...good, colour: 'red' }, 'colour'],
    ['a different name', { ...good, name: 'other' }, 'name'],
    ['a different origin', { ...good, origin: 'config' }, 'origin'],
    ['a different kind member', { ...good, kind: 'git' }, 'kind'],
  ])('is refused with %s', async (_what, body, path) => {
    const problems = problemsIn(await admin().put('/v1/sources/refused', body));
    expect(problems).toContain(path);
    expect(outcomeOf(await admin().get('/v1/sources/refused'))).toBe('404 source_not_found');
  });

  it('is refused with all its problems together', async () => {
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
    ['missing', undefined, {}, '400 invalid_body'],
    ['an empty body', '', json, '400 invalid_body'],
    ['an array', '[]', json, '400 invalid_body'],
    ['truncated JSON', '{"managed":{}', json, '400 malformed_json'],
    ['trailing content', '{"managed":{}} x', json, '400 malformed_json'],
    ['not JSON', 'managed: {}', json, '400 malformed_json'],
    ['text', JSON.stringify(good), { 'Content-Type': 'text/plain' }, '415 unsupported_media_type'],
    ['YAML', 'managed: {}', { 'Content-Type': 'application/yaml' }, '415 unsupported_media_type'],
    [
      'a form',
      'managed=1',
      { 'Content-Type': 'application/x-www-form-urlencoded' },
      '415 unsupported_media_type',
    ],
    [
      'an unknown content type',
      JSON.stringify(good),
      { 'Content-Type': 'nonsense' },
      '415 unsupported_media_type',
    ],
    [
      'an unsupported charset',
      JSON.stringify(good),
      { 'Content-Type': 'application/json; charset=koi8' },
      '415 unsupported_media_type',
    ],
    ['2 MB', JSON.stringify({ ...good, claims: { org: 'x'.repeat(2_000_000) } }), json, '413 body_too_large'],
  ])('is refused when it is %s', async (_what, body, headers, answer) => {
    expect(outcomeOf(await admin().put('/v1/sources/refused', body, headers))).toBe(answer);
    expect(outcomeOf(await admin().get('/v1/sources/refused'))).toBe('404 source_not_found');
  });

  it.each(['application/json; charset=utf-8', 'Application/JSON'])('is accepted as %s', async (type) => {
    const reply = await admin().put('/v1/sources/typed', good, { 'Content-Type': type });
    expect(['200', '201']).toContain(outcomeOf(reply));
  });
});
