import { randomInt } from 'node:crypto';
import { expect, it } from 'vitest';
import { serversIn } from '../support/answers.js';
import { aServer, type Document } from '../support/documents.js';
import { Random } from '../support/random.js';
import { aWebhookSecret, Receiver } from '../support/receiver.js';
import { aService } from '../support/service.js';
import { inSoak } from '../support/soak.js';
import { within } from '../support/within.js';

const STEPS = Number(process.env['WEBHOOK_STEPS'] ?? inSoak(2_000, 20));
/** A failure prints its seed: MODEL_SEED=… npx vitest run webhooks.model takes the same steps. */
const seed = Number(process.env['MODEL_SEED'] ?? inSoak(randomInt(2 ** 31), 7));

const ACME = { org: 'acme' };
const CONTOSO = { org: 'contoso' };
const BOTH = { org: ['acme', 'contoso'] };
const ADMIN = { sub: 'ada', org: ['acme', 'contoso'], role: ['super-admin', 'admin'] };
const NAMES = Array.from({ length: 6 }, (_, at) => `com.acme/e${at}`);
const ORDERS = [
  ['tools', 'published', 'more'],
  ['published', 'more'],
  ['more', 'tools', 'published'],
];

const receiver = new Receiver().runs();
const secret = aWebhookSecret();
const service = aService({ mode: 'full' })
  .source('tools', { servers: [aServer('com.acme/e0')], claims: ACME })
  .source('more', { servers: [aServer('com.acme/e1')], claims: CONTOSO })
  .source('published', { kind: 'managed' })
  .registry('main', { sources: ['tools', 'published', 'more'], claims: ACME })
  .registry('side', { sources: ['published'], claims: CONTOSO })
  .runs();

/**
 * The webhooks, by the path of their URL. Without a registry, a webhook follows every registry that its claims may
 * enter.
 */
const FOLLOWED: Readonly<Record<string, { claims: Document; registry?: string }>> = {
  main: { claims: ACME, registry: 'main' },
  all: { claims: ACME },
  contoso: { claims: CONTOSO },
  side: { claims: CONTOSO, registry: 'side' },
};

it(`a webhook with \`as\` is sent exactly the changes to its view, in ${STEPS} random steps`, async () => {
  const random = new Random(seed);
  const exp = Math.floor(Date.now() / 1_000) + 86_400;
  const admin = service.as({ ...ADMIN, exp });
  const entries = new Map<string, string[]>();
  const blocks = new Set<string>();

  const view = async ({ claims, registry }: { claims: Document; registry?: string }) => {
    const names = new Set<string>();
    for (const one of registry ? [registry] : ['main', 'side']) {
      const reply = await service.as({ ...claims, exp }).get(`/registry/${one}/v0.1/servers?limit=100`);
      if (reply.status === 200) for (const name of serversIn(reply)) names.add(name);
      else expect([403, 404]).toContain(reply.status);
    }
    return [...names].sort();
  };
  const path = (name: string) => `/v1/entries/server/${encodeURIComponent(name)}`;
  const anyClaims = () => random.pick<Document>([ACME, CONTOSO, BOTH]);
  const publish = async () => {
    const name = random.pick(NAMES);
    const versions = entries.get(name) ?? [];
    const version = `${versions.length + 1}.${random.between(0, 1_000_000)}.0`;
    const body = { server: aServer(name, version), claims: anyClaims() };
    const reply = await admin.post('/v1/entries', body);
    // Its claims differ from the entry's, or it is blocked.
    if (reply.status === 201) entries.set(name, [...versions, version]);
    else expect([400, 403], reply.text).toContain(reply.status);
  };
  const anEntry = () => {
    const all = [...entries.keys()];
    return all.length === 0 ? undefined : random.pick(all);
  };
  const relabel = async () => {
    const name = anEntry();
    if (name)
      expect([204, 404]).toContain((await admin.put(`${path(name)}/claims`, { claims: anyClaims() })).status);
  };
  const remove = async () => {
    const name = anEntry();
    if (!name) return;
    const [version = '', ...rest] = entries.get(name) ?? [];
    // May be held by a block.
    expect([204, 404]).toContain((await admin.send('DELETE', `${path(name)}/versions/${version}`)).status);
    if (rest.length > 0) entries.set(name, rest);
    else entries.delete(name);
  };
  const changeStatus = async () => {
    const name = anEntry();
    if (!name) return;
    const status = random.pick(['active', 'deprecated', 'deleted']);
    expect([200, 204, 404]).toContain((await admin.patch(`${path(name)}/status`, { status })).status);
  };
  const sync = async () => {
    const source = random.pick(['tools', 'more']);
    const servers = random.some(NAMES, 0.4).map((name) => aServer(name, `1.${random.between(0, 3)}.0`));
    await service.rewrite(source, { servers: [...servers, aServer(`com.acme/${source}`)] });
    await service.synced(source);
  };
  const reload = async () => {
    await service.reload((edited) =>
      random.pick([
        () => edited.registry('main', { sources: random.pick(ORDERS), claims: anyClaims() }),
        () => edited.registry('side', { sources: random.pick(ORDERS), claims: anyClaims() }),
        () => edited.source('tools', { claims: anyClaims() }),
      ])(),
    );
    for (const source of ['tools', 'more']) await service.synced(source);
  };
  const block = async () => {
    const id = random.pick(['one', 'two']);
    if (blocks.delete(id)) expect((await admin.delete(`/v1/blocks/${id}`)).status).toBe(204);
    else {
      blocks.add(id);
      const body = { names: [random.pick([...NAMES, 'com.acme/*'])], reason: 'random' };
      expect((await admin.put(`/v1/blocks/${id}`, body)).status).toBe(201);
    }
  };

  for (const source of ['tools', 'more']) await service.synced(source);
  await service.reload((edited) =>
    edited.configuration({
      webhooks: Object.entries(FOLLOWED).map(([name, as]) => ({
        ...{ name, as, url: `${receiver.url}/${name}` },
        secretFile: service.write('secret', secret),
      })),
    }),
  );
  await caughtUp();
  const known = new Map<string, Set<string>>();
  for (const [webhook, as] of Object.entries(FOLLOWED)) known.set(webhook, new Set(await view(as)));
  expect(receiver.deliveries).toEqual([]);

  let handled = 0;
  /** Applies the messages sent since the last call; returns a message that contradicts earlier ones. */
  const apply = (): string[] =>
    receiver.deliveries.slice(handled).flatMap(({ path: sentTo, event }) => {
      handled += 1;
      const webhook = sentTo.replace('/in/', '');
      const names = known.get(webhook);
      const name = event.subject.replace(/^server\//, '').replace(/@.*/, '');
      const wasKnown = names?.has(name) === true;
      if (event.type === 'entry.added') names?.add(name);
      if (event.type === 'entry.removed') names?.delete(name);
      const isRight = event.type === 'entry.added' ? !wasKnown : wasKnown;
      return isRight ? [] : [`${webhook}: ${event.type} ${event.subject}`];
    });
  for (let step = 1; step <= STEPS; step += 1) {
    const actions: string[] = [];
    for (let count = random.between(1, 3); count > 0; count -= 1) {
      const action = random.weigh<() => Promise<void>>([
        [6, publish],
        [4, relabel],
        [4, remove],
        [2, changeStatus],
        [3, sync],
        [2, reload],
        [2, block],
      ]);
      actions.push(action.name);
      await action();
    }
    const what = `step ${step} of MODEL_SEED=${seed}: ${actions.join(', ')}`;
    const views: Record<string, string[]> = {};
    for (const [webhook, as] of Object.entries(FOLLOWED)) views[webhook] = await view(as);
    const wrong: string[] = [];
    await within(20_000, async () => {
      await caughtUp();
      wrong.push(...apply());
      const sent = Object.fromEntries([...known].map(([webhook, names]) => [webhook, [...names].sort()]));
      expect({ what, wrong, views: sent }).toEqual({ what, wrong: [], views });
    });
  }
});

/** Waits until the webhooks have handled every event. */
async function caughtUp(): Promise<void> {
  await within(20_000, async () => {
    const rows = await service.database.query(
      `select name from webhook w where followed is null or until is not null or exists (
         select from audit_event where transaction >= pg_snapshot_xmin(w.past::pg_snapshot)::text::bigint
           and not pg_visible_in_snapshot(transaction::text::xid8, w.past::pg_snapshot) and transaction <> w.configured_in)`,
    );
    expect(rows).toEqual([]);
  });
}
