import { Webhook } from 'standardwebhooks';
import { beforeEach, describe, expect, it } from 'vitest';
import { decide, type Item, itemsFor, passTime, served, shortly } from '../support/admission.js';
import { auditOf, eventsOf } from '../support/audit.js';
import { ACME_ADMIN, SUPER_ADMIN } from '../support/callers.js';
import { aServer, type Document } from '../support/documents.js';
import type { Reply } from '../support/http.js';
import { call } from '../support/http.js';
import { expectRefused } from '../support/matchers.js';
import { type Answered, aWebhookSecret, type Delivered, Receiver } from '../support/receiver.js';
import { aService, type ServiceUnderTest } from '../support/service.js';
import { within } from '../support/within.js';

const SECRET = aWebhookSecret();
const ACME = { org: 'acme' };
const WRITER = { sub: 'wim', org: 'acme', role: 'writer' };
const COLLEAGUE = { sub: 'carl', org: 'acme', role: 'writer' };
const REVIEWER = { sub: 'rita', org: 'acme', team: 'payments' };
const REVIEWED = 'com.acme/payments-api';
const PATIENCE = 20_000;

interface Asked {
  readonly id: string;
  readonly source: string;
  readonly name: string;
  readonly version: string;
  readonly document: Document;
}

const says = (outcome: string, ...reasons: string[]): Answered => ({
  status: 200,
  body: JSON.stringify({ outcome, ...(reasons.length > 0 ? { reasons } : {}) }),
});
const askedIn = ({ body }: Delivered): Asked => JSON.parse(body) as Asked;
const GONE_URL = 'http://127.0.0.1:9/in';

const receiver = new Receiver().runs();
const other = new Receiver().runs();
const asked = (): Asked[] => receiver.deliveries.map(askedIn);
const askedAbout = (...names: string[]): Asked[] => asked().filter(({ name }) => names.includes(name));

const configured = new Map<ServiceUnderTest, string>();
async function configure(service: ServiceUnderTest, ...webhooks: Document[]): Promise<void> {
  if (configured.get(service) === JSON.stringify(webhooks)) return;
  configured.set(service, JSON.stringify(webhooks));
  const secretFile = service.write('secret', SECRET);
  const all = webhooks.map((one) => ({ name: 'scan', url: receiver.url, secretFile, ...one }));
  await service.reload((edited) => edited.configuration({ admission: { webhooks: all } }));
}

/** Schedules new requests to webhooks that failed. */
const askAgain = (service: ServiceUnderTest) =>
  service.database.query(`update admission_question set ask_at = now() where ask_at is not null`);

beforeEach(() => {
  for (const one of [receiver, other]) {
    one.answer = () => says('admit');
    one.deliveries.length = 0;
  }
});

describe('an admission webhook and publications', () => {
  const service = aService({ mode: 'full' })
    .source('internal', {
      kind: 'managed',
      settings: { review: [{ names: ['com.acme/payments-*'], reviewers: { team: 'payments' } }] },
      claims: ACME,
    })
    .registry('main', { sources: ['internal'], claims: {} })
    .runs();
  let names = 0;
  const aName = () => `com.acme/s${(names += 1)}`;
  const body = (name: string) => ({ server: aServer(name), claims: ACME });
  const publish = (name: string, by: Document = WRITER, path = '/v1/entries'): Promise<Reply> =>
    service.as(by).post(path, body(name));
  const isServed = async (name: string) => (await served(service.as(SUPER_ADMIN))).includes(`${name}@1.0.0`);
  const heldOf = async (name: string): Promise<Item> => {
    const [item] = await itemsFor(service.as(WRITER), `?mine=true&name=${encodeURIComponent(name)}`);
    if (!item) throw new Error(`${name} is not held`);
    return item;
  };

  beforeEach(() => configure(service, {}));

  it('is sent only the version, in a signed request', async () => {
    const name = aName();
    expect((await publish(name)).status).toBe(201);
    const [delivered] = receiver.deliveries as [Delivered];
    expect(new Webhook(SECRET).verify(delivered.body, delivered.headers as Record<string, string>)).toEqual({
      id: expect.any(String) as string,
      source: 'internal',
      type: 'server',
      name,
      version: '1.0.0',
      document: aServer(name),
      claims: ACME,
      publisher: { subject: 'wim', issuer: expect.any(String) as string },
    });
    expect(delivered.headers['webhook-id']).toBe(askedIn(delivered).id);
    expect(delivered.headers['authorization']).toBeUndefined();
  });

  it.each<[string, number, number]>([
    ['admit', 201, 200],
    ['hold', 202, 200],
    ['reject', 403, 403],
  ])('that returns %s makes publishing return %i, and dry runs %i', async (outcome, status, dry) => {
    receiver.answer = () => says(outcome, 'first', 'second');
    const name = aName();
    for (const path of ['/v1/entries/validate', '/v1/entries?dry_run=true', '/v1/entries']) {
      const reply = await publish(name, WRITER, path);
      expect(reply.status, path).toBe(path === '/v1/entries' ? status : dry);
      if (outcome === 'reject') {
        expectRefused(reply, 403, 'admission_rejected');
        expect(reply.json).toMatchObject({
          details: expect.arrayContaining(['first', 'second']) as string[],
        });
      } else {
        const reasons = ['first', 'second'].map((message) => ({ policy: 'webhook', message }));
        const { admission } = reply.json as { admission?: { reasons: object[] } };
        expect(admission?.reasons).toEqual(outcome === 'hold' ? reasons : undefined);
      }
    }
    expect(asked()).toHaveLength(3);
    expect(await isServed(name)).toBe(outcome === 'admit');
    expect((await itemsFor(service.as(WRITER), '?mine=true')).some((item) => item.name === name)).toBe(
      outcome === 'hold',
    );
    if (outcome === 'hold') expect((await heldOf(name)).id).toBe(asked()[2]?.id);
  });

  it('that rejects a version is recorded with its name for managers of the entry, as a block is', async () => {
    receiver.answer = () => says('reject');
    const [rejected, blocked] = [aName(), aName()];
    const block = { names: [blocked], reason: 'SEC-2' };
    expect((await service.as(SUPER_ADMIN).put('/v1/blocks/sec-2', block)).status).toBe(201);
    const foreign = service.as({ sub: 'cora', org: 'contoso', role: 'writer' });
    for (const [name, code] of [
      [rejected, 'admission_rejected'],
      [blocked, 'blocked'],
    ] as const) {
      const reply = await publish(name);
      expectRefused(reply, 403, code);
      const target = { type: 'server', name, version: '1.0.0', source: 'internal' };
      expect(await eventsOf(service.as(COLLEAGUE), reply)).toMatchObject([
        { action: 'entry.publish', outcome: 'refused', code, target, actor: { subject: 'wim' } },
      ]);
      expect((await auditOf(foreign)).some(({ target: { name: seen } }) => seen === name)).toBe(false);
    }
  });

  it('that does not respond in time, or sends anything but an outcome, counts as failed', async () => {
    const failures: readonly [how: string, answer: Answered | null | undefined][] = [
      ['no response', null],
      ['status 500', { status: 500, body: '{"outcome":"admit"}' }],
      ['status 204', undefined],
      ['a redirect', { status: 307, headers: { location: '/elsewhere' } }],
      ['no JSON', { status: 200, body: 'admit' }],
      ['a name twice', { status: 200, body: '{"outcome":"reject","outcome":"admit"}' }],
      ['a name in two spellings', { status: 200, body: '{"outcome":"admit","\\u006futcome":"admit"}' }],
      ['no outcome', { status: 200, body: '{"outcome":"maybe"}' }],
      ['reasons that are not texts', { status: 200, body: '{"outcome":"admit","reasons":[1]}' }],
      ['more than 64 KiB', { status: 200, body: `{"outcome":"admit","x":"${'x'.repeat(65_536)}"}` }],
    ];
    const answers = new Map(failures.map(([how, answer]) => [aName(), { how, answer }]));
    receiver.answer = (delivered) => {
      const failure = answers.get(askedIn(delivered).name);
      return failure ? failure.answer : says('admit');
    };
    await configure(service, { timeout: '1s' });
    const outcomes = await Promise.all(
      [...answers].map(async ([name, { how }]) => {
        const { status, text } = await publish(name);
        return [how, status, text.includes(new URL(receiver.url).host)];
      }),
    );
    expect(outcomes).toEqual(failures.map(([how]) => [how, 202, false]));
    // Redirects are not followed. The webhook may be asked again about a held version.
    expect(new Set(receiver.deliveries.map(({ path }) => path))).toEqual(new Set(['/in']));
  });

  it.each([
    ['hold', 202],
    ['reject', 403],
    ['admit', 201],
  ] as const)('that failed with onFailure %s makes publishing return %i', async (onFailure, status) => {
    receiver.answer = () => ({ status: 500 });
    await configure(service, { onFailure });
    const reply = await publish(aName());
    expect(reply.status, reply.text).toBe(status);
    expect(reply.text).not.toContain(new URL(receiver.url).host);
  });

  it('that cannot be reached has also failed, but a response just under 64 KiB is accepted', async () => {
    await configure(service, { url: GONE_URL });
    expect((await publish(aName())).status).toBe(202);
    await configure(service, {});
    receiver.answer = () => ({ status: 200, body: `{"outcome":"admit","x":"${'x'.repeat(65_000)}"}` });
    expect((await publish(aName())).status).toBe(201);
  });

  it('that failed is asked again, and releases or rejects the version', async () => {
    receiver.answer = () => ({ status: 503 });
    const [good, bad] = [aName(), aName()];
    for (const name of [good, bad]) expect((await publish(name)).status).toBe(202);
    const { id } = await heldOf(good);
    receiver.answer = (delivered) => says(askedIn(delivered).name === good ? 'admit' : 'reject', 'malware');
    await askAgain(service);
    await within(PATIENCE, async () => expect(await isServed(good)).toBe(true));
    expect(asked().filter((one) => one.id === id)).toHaveLength(2);
    await within(PATIENCE, async () => {
      const query = `?mine=true&status=rejected&name=${encodeURIComponent(bad)}`;
      const rejected = await itemsFor(service.as(WRITER), query);
      expect(rejected).toMatchObject([{ name: bad, reasons: [{ policy: 'webhook', message: 'malware' }] }]);
    });
    expect(await isServed(bad)).toBe(false);
    const target = `target=${encodeURIComponent(bad)}&action=admission.reject`;
    expect(await auditOf(service.as(SUPER_ADMIN), target)).toMatchObject([
      { actor: { subject: 'admission' }, outcome: 'allowed' },
    ]);
    expect((await publish(bad)).status).toBe(403);
    receiver.answer = () => says('admit');
    expect((await publish(bad)).status).toBe(201);
  });

  it('is asked again only after a failure, even on approval', async () => {
    receiver.answer = () => says('hold', 'look at it');
    const free = aName();
    for (const name of [free, REVIEWED]) expect((await publish(name)).status).toBe(202);
    expect(shortly([await heldOf(REVIEWED)])).toEqual([`${REVIEWED}@1.0.0: review+webhook`]);
    const item = await heldOf(free);
    expectRefused(await decide(service.as(WRITER), item, 'approve'), 403, 'own_publication');
    expectRefused(await decide(service.as(REVIEWER), item, 'approve'), 404, 'item_not_found');
    expect((await decide(service.as(ACME_ADMIN), item, 'approve')).json).toMatchObject({
      status: 'admitted',
    });
    expect((await decide(service.as(REVIEWER), await heldOf(REVIEWED), 'approve')).status).toBe(200);
    expect(await isServed(free)).toBe(true);
    expect(await isServed(REVIEWED)).toBe(true);
    // It may be asked again about versions left by earlier tests.
    expect(askedAbout(free, REVIEWED)).toHaveLength(2);
  });

  it('is combined with others: the worst outcome decides', async () => {
    const all = [{}, { name: 'second', url: other.url }];
    await configure(service, ...all);
    for (const [first, second, status] of [
      ['admit', 'hold', 202],
      ['hold', 'reject', 403],
      ['admit', 'admit', 201],
    ] as const) {
      receiver.answer = () => says(first);
      other.answer = () => says(second);
      expect((await publish(aName())).status).toBe(status);
    }
  });

  it('is not asked about versions that cannot be published, or if it is configured only for syncs', async () => {
    const taken = aName();
    expect((await publish(taken)).status).toBe(201);
    const blocked = aName();
    const block = { names: [blocked], reason: 'SEC-1' };
    expect((await service.as(SUPER_ADMIN).put('/v1/blocks/sec-1', block)).status).toBe(201);
    receiver.deliveries.length = 0;
    expectRefused(await publish(taken), 409, 'version_exists');
    expectRefused(await publish(blocked), 403, 'blocked');
    const [refused, foreign, later] = [aName(), aName(), aName()];
    expectRefused(await publish(refused, { sub: 'olaf', org: 'acme' }), 403, 'role_required');
    const theirs = { server: aServer(foreign), claims: { org: 'contoso' } };
    expectRefused(await service.as(WRITER).post('/v1/entries', theirs), 400, 'claims_not_subset');
    await configure(service, { on: ['sync'] });
    expect((await publish(later)).status).toBe(201);
    expect(askedAbout(taken, blocked, refused, foreign, later)).toEqual([]);
  });

  it('keeps no transaction open while it is asked, and lets one person have 10 publications waiting', async () => {
    await configure(service, { timeout: '30s' });
    const answers: ((answered: Answered) => void)[] = [];
    // It is asked again about versions left by earlier tests.
    const earlier = names;
    receiver.answer = (delivered) =>
      Number(askedIn(delivered).name.replace('com.acme/s', '')) > earlier
        ? new Promise((resolve) => void answers.push(resolve))
        : says('admit');
    const mine = Array.from({ length: 11 }, () => publish(aName()));
    // All others wait for the webhook, so the first response is a refusal.
    expectRefused(await Promise.race(mine), 429, 'too_many_requests');
    expectRefused(await publish(aName(), WRITER, '/v1/entries/validate'), 429, 'too_many_requests');
    await within(PATIENCE, () => expect(answers).toHaveLength(8));
    const theirs = publish(aName(), COLLEAGUE);
    await within(PATIENCE, async () => {
      const [row] = await service.database.query<{ count: number }>(
        `select count(*)::int as count from pg_stat_activity
         where datname = current_database() and state like 'idle in transaction%'`,
      );
      expect(row).toEqual({ count: 0 });
    });
    expect((await service.as(WRITER).get('/registry/main/v0.1/servers')).status).toBe(200);
    await within(PATIENCE, () => {
      answers.shift()?.(says('admit'));
      expect(receiver.deliveries.some(({ body: text }) => text.includes('"carl"'))).toBe(true);
    });
    receiver.answer = () => says('admit');
    for (const answer of answers) answer(says('admit'));
    const statuses = (await Promise.all(mine)).map(({ status }) => status);
    expect(statuses.sort()).toEqual([...Array<number>(10).fill(201), 429]);
    expect((await theirs).status).toBe(201);
    expect((await publish(aName())).status).toBe(201);
  });

  it('decides nothing for a publisher who loses their role while it is asked', async () => {
    await configure(service, { timeout: '30s' });
    const [refused, kept] = [aName(), aName()];
    const answers: (() => void)[] = [];
    receiver.answer = (delivered) =>
      [refused, kept].includes(askedIn(delivered).name)
        ? new Promise((resolve) => void answers.push(() => resolve(says('admit'))))
        : says('admit');
    const publications = [publish(refused), publish(kept, { ...WRITER, role: ['writer', 'author'] })];
    await within(PATIENCE, () => expect(answers).toHaveLength(2));
    await service.reload((edited) => edited.auth({ roles: { manageEntries: [{ role: 'author' }] } }));
    for (const answer of answers) answer();
    const [without, still] = await Promise.all(publications);
    expectRefused(without as Reply, 403, 'role_required');
    expect(still?.status, still?.text).toBe(201);
    expect(await isServed(refused)).toBe(false);
    await service.reload((edited) => edited.auth({ roles: {} }));
  });

  it('appears in explanations, metrics and the audit trail without its secrets', async () => {
    const question = {
      registry: 'main',
      action: 'publish',
      claims: ACME,
      entry: { type: 'server', name: aName() },
    };
    const explained = (await service.as(WRITER).post('/v1/access/explain', question)).json as {
      answer: object;
      steps: object[];
    };
    expect(explained.answer).toEqual({ status: 201 });
    expect(explained.steps.at(-1)).toMatchObject({ step: 'admission', outcome: 'passed' });
    await publish(aName());
    const { text } = await call(`${service.internalOrigin}/metrics`);
    expect(text).toMatch(/duration_seconds_count\{webhook="scan",outcome="admit"\} [1-9]/);
    await configure(service, { onFailure: 'reject' });
    const [event] = await auditOf(service.as(SUPER_ADMIN), 'action=config.apply&target=admission');
    expect(event?.change?.after).toEqual({
      webhooks: [
        {
          ...{ name: 'scan', host: new URL(receiver.url).host, on: ['publish', 'sync'], timeout: '5s' },
          ...{ onFailure: 'reject', url: 'set', secret: 'set' },
        },
      ],
    });
  });
});

describe('an admission webhook and syncs', () => {
  const service = aService()
    .source('mirror', { servers: [aServer('io.acme/first')] })
    .source('busy', { servers: [aServer('io.busy/first')] })
    .source('young', { servers: [aServer('io.young/first')], admission: { minAge: '7d' } })
    .registry('main', { sources: ['mirror', 'busy', 'young'] })
    .runs();
  const sync = async (source: string, ...servers: Document[]) => {
    await service.rewrite(source, { servers });
    return service.synced(source);
  };
  const shows = (...versions: string[]) =>
    within(PATIENCE, async () => expect(await served(service)).toEqual(expect.arrayContaining(versions)));
  const held = async (query = '') => shortly(await itemsFor(service, query));
  const wasAsked = (count: number) =>
    within(PATIENCE, () => expect(receiver.deliveries.length).toBeGreaterThanOrEqual(count));

  beforeEach(() => configure(service, {}));

  it('holds every new version until it is admitted, held or rejected', async () => {
    expect(await served(service)).toEqual(['io.busy/first@1.0.0', 'io.acme/first@1.0.0'].sort());
    receiver.answer = (delivered) => {
      const { name } = askedIn(delivered);
      if (name === 'io.acme/good') return says('admit');
      return name === 'io.acme/bad' ? says('reject', 'malware') : says('hold', 'unclear');
    };
    const servers = ['first', 'good', 'bad', 'unclear'].map((name) => aServer(`io.acme/${name}`));
    // `held` counts no version that the server has already admitted.
    expect((await sync('mirror', ...servers)).counts).toMatchObject({ added: 0 });
    await shows('io.acme/good@1.0.0');
    await within(PATIENCE, async () => {
      expect(await held('?source=mirror')).toEqual(['io.acme/unclear@1.0.0: webhook']);
      expect(await held('?status=rejected')).toEqual(['io.acme/bad@1.0.0: webhook']);
    });
    expect(
      asked()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(['io.acme/bad', 'io.acme/good', 'io.acme/unclear']);
    expect(asked()[0]).toMatchObject({ source: 'mirror', version: '1.0.0', claims: {} });
    // Nobody asks about decided versions anymore.
    const report = await sync('mirror', ...servers, aServer('io.acme/unclear', '2.0.0'));
    const rejected = { name: 'io.acme/bad', version: '1.0.0', reasons: ['admission_rejected: malware'] };
    expect(report.skipped).toMatchObject([rejected]);
    await wasAsked(4);
    expect(asked().slice(3)).toMatchObject([{ name: 'io.acme/unclear', version: '2.0.0' }]);
    const [item] = await itemsFor(service, '?name=io.acme%2Funclear');
    if (item) expect((await decide(service, item, 'approve')).status).toBe(200);
    expect((await served(service)).filter((one) => one.startsWith('io.acme/unclear'))).toHaveLength(1);
  });

  it('that admits a document does not admit one that replaces it in the meantime', async () => {
    const withText = (description: string) => aServer('io.acme/first', '1.0.0', { description });
    let answer: ((answered: Answered) => void) | undefined;
    receiver.answer = (delivered) =>
      delivered.body.includes('changed once')
        ? new Promise((resolve) => (answer = resolve))
        : says('hold', 'unclear');
    await sync('mirror', withText('changed once'));
    await within(PATIENCE, () => expect(answer).toBeDefined());
    await sync('mirror', withText('changed twice'));
    await wasAsked(2);
    answer?.(says('admit'));
    const document = async () => (await service.get('/registry/main/v0.1/servers?search=io.acme/first')).text;
    await within(PATIENCE, async () =>
      expect(await held('?source=mirror')).toEqual(['io.acme/first@1.0.0: webhook']),
    );
    receiver.answer = () => says('admit');
    await sync('mirror', withText('changed twice'), aServer('io.acme/later'));
    await shows('io.acme/later@1.0.0');
    expect(await document()).toContain('The server io.acme/first');
    const [item] = await itemsFor(service, '?name=io.acme%2Ffirst');
    expect((await service.get(`/v1/admission/${item?.id}`)).json).toMatchObject({
      document: { description: 'changed twice' },
    });
  });

  it('that hangs for one source delays no syncs, and delays versions of other sources only slightly', async () => {
    await configure(service, { timeout: '30s' });
    const hanging: (() => void)[] = [];
    receiver.answer = (delivered) =>
      askedIn(delivered).source === 'busy'
        ? new Promise((resolve) => void hanging.push(() => resolve({ status: 500 })))
        : says('admit');
    const many = Array.from({ length: 30 }, (_, index) => aServer(`io.busy/s${index}`));
    await sync('busy', aServer('io.busy/first'), ...many);
    await within(PATIENCE, () => expect(hanging).toHaveLength(8));
    await sync('mirror', aServer('io.acme/first'), aServer('io.acme/quick'));
    // Each failing question makes room for another one, from either source.
    await within(PATIENCE, () => {
      hanging.shift()?.();
      expect(askedAbout('io.acme/quick')).toHaveLength(1);
    });
    await shows('io.acme/quick@1.0.0');
    expect(receiver.deliveries.length).toBeLessThan(31);
    receiver.answer = () => says('admit');
    for (const fail of hanging) fail();
    await within(PATIENCE, async () => {
      await askAgain(service);
      expect(await held('?source=busy')).toEqual([]);
    });
    await shows('io.busy/s29@1.0.0');
  });

  it('that failed with onFailure reject is asked again when the source is read again', async () => {
    await configure(service, { onFailure: 'reject' });
    receiver.answer = () => ({ status: 500 });
    await sync('mirror', aServer('io.acme/first'), aServer('io.acme/again'));
    await within(PATIENCE, async () =>
      expect(await held('?status=rejected&name=io.acme%2Fagain')).toEqual(['io.acme/again@1.0.0: webhook']),
    );
    receiver.answer = () => says('admit');
    await sync('mirror', aServer('io.acme/first'), aServer('io.acme/again'), aServer('io.acme/new'));
    await shows('io.acme/again@1.0.0', 'io.acme/new@1.0.0');
    expect(await held('?status=rejected&name=io.acme%2Fagain')).toEqual([]);
  });

  it('that is configured while versions are held is asked before they are admitted', async () => {
    expect(await held('?source=young')).toEqual(['io.young/first@1.0.0: minAge']);
    receiver.answer = () => says('hold', 'unclear');
    await passTime(service, '8 days');
    await within(PATIENCE, async () =>
      expect(await held('?source=young')).toEqual(['io.young/first@1.0.0: webhook']),
    );
    await within(PATIENCE, async () => {
      const [item] = await itemsFor(service, '?source=young');
      expect(item?.reasons).toEqual([{ policy: 'webhook', message: 'unclear' }]);
    });
    expect(asked()).toMatchObject([{ name: 'io.young/first' }]);
  });

  it('that admits a version does not lift other reasons to hold it', async () => {
    await sync('young', aServer('io.young/first'), aServer('io.young/second'));
    await within(PATIENCE, async () =>
      expect(await held('?name=io.young%2Fsecond')).toEqual(['io.young/second@1.0.0: minAge']),
    );
    await passTime(service, '8 days');
    await shows('io.young/second@1.0.0');
    expect(asked()).toHaveLength(1);
  });
});
