import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ACME_DATA, ACME_PLATFORM, CONTOSO_READER, SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import type { Reply } from '../support/http.js';
import { entryAt, publish } from '../support/publishing.js';
import { aService, type ServiceUnderTest } from '../support/service.js';
import { StatementTap } from '../support/statement-tap.js';
import { within } from '../support/within.js';

const FOR_DATA = { org: 'acme', team: 'data' };
const FOR_PLATFORM = { org: 'acme', team: 'platform' };
const AT_ONCE = 120;
const numbered = (kind: string) => Array.from({ length: 8 }, (_, number) => `io.acme/${kind}-${number}`);
/** Too long for all of them to fit on one page. */
const LONG = [
  {
    type: 'sse',
    url: 'https://acme.example',
    headers: [{ name: 'X-Long', description: 'x'.repeat(600_000) }],
  },
];
const LONG_NAMES = numbered('long').slice(0, 6);
/** Part of each statement that reads versions. */
const READ = 'currency';
const SHARED = 'io.acme/in-both';
const DELETED = 'io.acme/deleted';

// Concurrent reads of versions are batched into one statement, across callers.
describe('concurrent reads of versions', () => {
  const alone = aService({ mode: 'full' })
    .source('published', { kind: 'managed' })
    .source('data', {
      servers: [...numbered('data').map((name) => aServer(name)), aServer(SHARED, '1.0.0')],
      claims: FOR_DATA,
    })
    .source('platform', {
      servers: [
        ...numbered('platform').flatMap((name) => [aServer(name, '1.0.0'), aServer(name, '2.0.0')]),
        ...LONG_NAMES.map((name) => aServer(name, '1.0.0', { remotes: LONG })),
        aServer(SHARED, '2.0.0'),
      ],
      claims: FOR_PLATFORM,
    })
    .registry('main', { sources: ['published', 'data', 'platform'] })
    .registry('reversed', { sources: ['platform', 'data'] })
    .runs();
  let tap: StatementTap;
  let together: ServiceUnderTest;
  beforeAll(async () => {
    tap = new StatementTap(alone.database);
    const { user, database } = alone.database;
    together = alone
      .replica()
      .configuration({ database: { host: '127.0.0.1', port: await tap.listen(), user, database } });
    await together.start();
    for (const source of ['data', 'platform']) expect((await alone.synced(source)).status).toBe('complete');
    for (const version of ['1.0.0', '2.0.0'])
      await publish(alone.as(SUPER_ADMIN), 'server', DELETED, FOR_DATA, version);
    await alone
      .as(SUPER_ADMIN)
      .patch(entryAt('server', DELETED, '/versions/2.0.0/status'), { status: 'deleted' });
  });
  afterAll(async () => {
    await together.stop();
    tap.close();
  });

  const names = [
    ...numbered('data'),
    ...numbered('platform'),
    SHARED,
    DELETED,
    'io.acme/absent',
    // Special in a PostgreSQL array literal.
    'NULL',
    '{}',
    'io.acme/"a","b"',
    'io.acme/\\',
    'io.acme/\0',
    'io.acme/,',
  ];
  const versions = ['latest', '1.0.0', '2.0.0', '2.0.0?include_deleted=true', 'a","b', '\0'];
  const callers = [ACME_DATA, ACME_PLATFORM, CONTOSO_READER, SUPER_ADMIN];
  const questions = callers.flatMap((caller) =>
    ['main', 'reversed'].flatMap((registry) =>
      names.flatMap((name) => versions.map((version) => ({ caller, registry, name, version }))),
    ),
  );
  const ask = (
    service: ServiceUnderTest,
    { caller, registry, name, version }: (typeof questions)[number],
  ) => {
    const [exact = '', query] = version.split('?');
    const path = `${encodeURIComponent(name)}/versions/${encodeURIComponent(exact)}`;
    return service
      .as(caller)
      .get(`/registry/${registry}/v0.1/servers/${path}${query === undefined ? '' : `?${query}`}`);
  };
  const outcome = ({ status, text }: Reply) =>
    `${status} ${status === 200 ? text : /"code":"[^"]*"/.exec(text)?.[0]}`;
  const ofSeveral = () => tap.statements.filter((statement) => statement.includes('asked.name'));

  it('return the same answers as single reads', async () => {
    // The first caller has no cached view, the others have a stale one.
    for (const caller of callers.slice(1)) await together.as(caller).get('/registry/main/v0.1/servers');
    await publish(alone.as(SUPER_ADMIN), 'server', 'io.acme/new', FOR_DATA);
    tap.statements.length = 0;
    const answered: Reply[] = [];
    for (let from = 0; from < questions.length; from += AT_ONCE)
      answered.push(
        ...(await Promise.all(
          questions.slice(from, from + AT_ONCE).map((question) => ask(together, question)),
        )),
      );
    const found = answered.filter(({ status }) => status === 200).length;
    expect(found).toBeGreaterThan(100);
    expect(ofSeveral().length).toBeGreaterThan(20);
    for (const [index, question] of questions.entries()) {
      const reply = await ask(alone, question);
      expect(outcome(answered[index] as Reply), JSON.stringify(question)).toBe(outcome(reply));
    }
  });

  it('return complete documents that do not fit into one batch', async () => {
    await publish(alone.as(SUPER_ADMIN), 'server', 'io.acme/newest', FOR_DATA);
    const long = ['io.acme/platform-1', ...LONG_NAMES, 'io.acme/platform-2'].map((name) => ({
      caller: ACME_PLATFORM,
      registry: 'main',
      name,
      version: 'latest',
    }));
    const answered = await Promise.all(long.map((question) => ask(together, question)));
    for (const [index, question] of long.entries())
      expect(answered[index]?.text === (await ask(alone, question)).text, question.name).toBe(true);
    expect(answered[1]?.text.length).toBeGreaterThan(600_000);
  });

  it('return 404 for a version withdrawn before the request', async () => {
    const asked = (caller: object) =>
      Promise.all(
        ['io.acme/withdrawn', ...numbered('data')].map((name) =>
          ask(together, { caller: caller as typeof ACME_DATA, registry: 'main', name, version: '1.0.0' }),
        ),
      );
    await publish(alone.as(SUPER_ADMIN), 'server', 'io.acme/withdrawn', FOR_DATA);
    const before = await asked(ACME_DATA);
    expect(new Set(before.map(({ status }) => status))).toEqual(new Set([200]));
    await alone
      .as(SUPER_ADMIN)
      .put(entryAt('server', 'io.acme/withdrawn', '/claims'), { claims: FOR_PLATFORM });
    const [withdrawn, ...others] = await asked(ACME_DATA);
    expect(withdrawn && outcome(withdrawn)).toBe('404 "code":"entry_not_found"');
    expect(new Set(others.map(({ status }) => status))).toEqual(new Set([200]));
    const [visible] = await asked(ACME_PLATFORM);
    expect(visible?.status).toBe(200);
  });

  const reads = () => tap.statements.filter((statement) => statement.includes(READ)).length;
  /** Withholds the results of reads until all requests have arrived and this many statements run. */
  const whileHeld = async (asked: readonly (typeof questions)[number][], running: number) => {
    await publish(alone.as(SUPER_ADMIN), 'server', `io.acme/latest-${reads()}`, FOR_DATA);
    for (const { caller, registry } of asked)
      await together.as(caller).get(`/registry/${registry}/v0.1/servers?limit=1`);
    tap.statements.length = 0;
    tap.hold(READ);
    const answers = asked.map((question) => ask(together, question));
    // Once a later request without queries is answered, these are waiting.
    await together.as(SUPER_ADMIN).get('/v1/me');
    await within(20_000, () => expect(reads()).toBeGreaterThanOrEqual(running));
    await sleep(50);
    expect(reads()).toBe(running);
    tap.release();
    return Promise.all(answers);
  };

  it('share a statement while two others of their view run', async () => {
    const asked = [...numbered('data'), ...numbered('platform')].map((name) => ({
      ...{ caller: SUPER_ADMIN, registry: 'main', version: 'latest' },
      name,
    }));
    const answers = await whileHeld(asked, 2);
    expect(answers.map(({ status }) => status)).toEqual(asked.map(() => 200));
    expect(reads()).toBe(3);
  });

  it('use at most four of ten connections, whatever their views', async () => {
    const asked = callers.flatMap((caller) =>
      ['main', 'reversed'].map((registry) => ({ caller, registry, name: SHARED, version: 'latest' })),
    );
    const answers = await whileHeld(asked, 4);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 404, 404, 200, 200]);
  });
});
