import { beforeAll, describe, expect, it } from 'vitest';
import { aServer } from '../support/documents.js';
import type { Reply } from '../support/http.js';
import { expectRefused, versionsIn } from '../support/matchers.js';
import { consumerAt, entryAt, listAt, publish, type Type, TYPES } from '../support/publishing.js';
import { aService } from '../support/service.js';

const service = aService()
  .source('published', { kind: 'managed' })
  .source('file', { servers: [aServer('io.acme/both', '7.0.0')] })
  .registry('main', { sources: ['published'] })
  .registry('two', { sources: ['published', 'file'] })
  .runs();

const SOME = 'io.acme/some-deleted';
const ALL = 'io.acme/all-deleted';
const MISSING = 'io.acme/never-there';

/** The versions in a response, newest first, or its status and code. */
function answerIn({ status, json }: Reply): string {
  const body = json as {
    code?: string;
    version?: string;
    server?: { version: string };
    servers?: { server: { version: string } }[];
    skills?: { version: string }[];
  };
  if (status !== 200) return `${status} ${body.code}`;
  const list =
    body.servers?.map(({ server }) => server.version) ?? body.skills?.map(({ version }) => version);
  return (list ?? [body.server?.version ?? body.version]).join(' ');
}

// No route sets `deleted` on a skill, but other writers may have stored it.
async function withdraw(type: Type, name: string, version: string): Promise<void> {
  if (type === 'server') {
    const path = entryAt(type, name, `/versions/${version}/status`);
    expect((await service.patch(path, { status: 'deleted' })).status).toBe(200);
    return;
  }
  await service.database.query(
    `with deleted as (
       update entry_version v set status = 'deleted', is_latest = v.is_latest and $3
       from entry e where e.id = v.entry_id and e.type = 'skill' and e.name = $1 and v.version = $2 returning e.id
     )
     update entry_version v set is_latest = true
     from deleted d where not $3 and v.entry_id = d.id and v.version = '1.0.0'`,
    [name, version, name === ALL],
  );
  await service.database.query('update source set revision = revision + 1');
}

beforeAll(async () => {
  for (const type of TYPES) {
    for (const name of [SOME, ALL]) await publish(service, type, name, undefined, '1.0.0', '2.0.0');
    await withdraw(type, SOME, '2.0.0');
    await withdraw(type, ALL, '1.0.0');
    await withdraw(type, ALL, '2.0.0');
  }
});

const WITH = '?include_deleted=true';
/** Responses for both types, by path below the entry. */
const CASES: readonly (readonly [name: string, below: string, answer: string])[] = [
  [SOME, '/versions/latest', '1.0.0'],
  [SOME, `/versions/latest${WITH}`, '1.0.0'],
  [SOME, '/versions/1.0.0', '1.0.0'],
  [SOME, '/versions/2.0.0', '404 version_not_found'],
  [SOME, '/versions/2.0.0?include_deleted=false', '404 version_not_found'],
  [SOME, '/versions/2.0.0?include_deleted=', '404 version_not_found'],
  [SOME, '/versions/2.0.0?include_deleted=maybe', '400 invalid_parameter'],
  [SOME, `/versions/2.0.0${WITH}`, '2.0.0'],
  [SOME, '/versions/9.9.9', '404 version_not_found'],
  [SOME, '/versions', '1.0.0'],
  [SOME, `/versions${WITH}`, '2.0.0 1.0.0'],
  [ALL, '/versions/latest', '404 entry_not_found'],
  [ALL, `/versions/latest${WITH}`, '2.0.0'],
  [ALL, '/versions/2.0.0', '404 entry_not_found'],
  [ALL, `/versions/2.0.0${WITH}`, '2.0.0'],
  [ALL, '/versions/1.0.0', '404 entry_not_found'],
  [ALL, `/versions/1.0.0${WITH}`, '1.0.0'],
  [ALL, '/versions/9.9.9', '404 entry_not_found'],
  [ALL, `/versions/9.9.9${WITH}`, '404 version_not_found'],
  [ALL, '/versions', '404 entry_not_found'],
  [ALL, `/versions${WITH}`, '2.0.0 1.0.0'],
];

describe.each(TYPES)('a %s with deleted versions', (type) => {
  it.each(CASES)('GET %s%s returns %s', async (name, below, answer) => {
    expect(answerIn(await service.get(consumerAt(type, name, below)))).toBe(answer);
    const older = consumerAt(type, name, below).replace('/v0.1/', '/v0/');
    expect(answerIn(await service.get(older))).toBe(answer);
  });

  it('looks like a missing one when all versions are deleted', async () => {
    const refusalFor = async (name: string, below: string) => {
      const reply = await service.get(consumerAt(type, name, below));
      expectRefused(reply, 404, 'entry_not_found');
      return reply.text.replace(/"requestId":"[^"]+"/, '');
    };
    for (const below of ['/versions', '/versions/latest', '/versions/2.0.0', '/versions/9.9.9'])
      expect(await refusalFor(ALL, below)).toBe(await refusalFor(MISSING, below));
  });
});

describe('a skill with deleted versions', () => {
  it.each([
    [SOME, '', '1.0.0'],
    [SOME, WITH, '1.0.0'],
    [ALL, '', '404 entry_not_found'],
    [ALL, '?include_deleted=', '404 entry_not_found'],
    [ALL, WITH, '2.0.0'],
    [ALL, '?include_deleted=1', '400 invalid_parameter'],
  ])('GET %s with "%s" returns %s', async (name, query, answer) => {
    expect(answerIn(await service.get(consumerAt('skill', name, query)))).toBe(answer);
  });

  it('lists only versions that are not deleted, even with include_deleted', async () => {
    const { skills } = (await service.get(`${listAt('skill')}${WITH}`)).json as {
      skills: { name: string }[];
    };
    expect(skills.map(({ name }) => `io.acme/${name}`)).toEqual([SOME]);
  });
});

describe('the last version of an entry', () => {
  const name = 'io.acme/known';

  it('returns 404 for If-None-Match once deleted, and is served again once undeleted', async () => {
    await publish(service, 'server', name);
    const path = consumerAt('server', name, '/versions/latest');
    const known = { headers: { 'If-None-Match': String((await service.get(path)).headers['etag']) } };
    expect((await service.send('GET', path, known)).status).toBe(304);
    const status = entryAt('server', name, '/versions/1.0.0/status');
    await service.patch(status, { status: 'deleted' });
    expectRefused(await service.send('GET', path, known), 404, 'entry_not_found');
    await service.patch(status, { status: 'deprecated' });
    expect(answerIn(await service.send('GET', path, known))).toBe('1.0.0');
  });

  it('is not replaced by a later source when deleted: the first source provides all versions', async () => {
    const path = consumerAt('server', 'io.acme/both', '/versions/latest', 'two');
    expect(answerIn(await service.get(path))).toBe('7.0.0');
    await publish(service, 'server', 'io.acme/both');
    expect(answerIn(await service.get(path))).toBe('1.0.0');
    await withdraw('server', 'io.acme/both', '1.0.0');
    expectRefused(await service.get(path), 404, 'entry_not_found');
    expect(versionsIn(await service.get(`${listAt('server', 'two')}?search=both`))).toEqual([]);
  });
});
