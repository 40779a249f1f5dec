import { randomInt } from 'node:crypto';
import { expect, it } from 'vitest';
import { decide, type Item, passTime, shortly } from '../support/admission.js';
import { aCatalogue, aServer, type Document } from '../support/documents.js';
import { Random } from '../support/random.js';
import { demandRevisions } from '../support/revisions.js';
import { aService } from '../support/service.js';
import { inSoak } from '../support/soak.js';

const STEPS = Number(process.env['ADMISSION_STEPS'] ?? inSoak(20_000, 60));
/** A failure prints its seed: MODEL_SEED=… npx vitest run test/model/admission.spec.ts takes the same steps. */
const seed = Number(process.env['MODEL_SEED'] ?? inSoak(randomInt(2 ** 31), 7));

const MIN_AGE = 10;
const VERSIONS = ['1.0.0', '1.1.0', '2.0.0'];
const MIRRORED = ['com.a/x', 'com.a/w', 'com.pin/y', 'com.late/z'];
const PUBLISHED = ['com.rev/p', 'com.free/q'];
const ACME = { org: 'acme' };
const ADMIN = { sub: 'ada', org: 'acme', role: ['super-admin', 'admin'] };
const WRITER = { sub: 'wim', org: 'acme', role: 'writer' };
const REVIEWER = { sub: 'rita', org: 'acme', team: 'review' };

interface Rule {
  readonly body: Document;
  readonly matches: (name: string, version: string) => boolean;
}

const RULES: readonly Rule[] = [
  { body: { names: ['com.a/*'] }, matches: (name) => name.startsWith('com.a/') },
  { body: { names: ['*/x', 'com.rev/?'] }, matches: (name) => ['com.a/x', 'com.rev/p'].includes(name) },
  { body: { versions: '>=1.5' }, matches: (_, version) => version === '2.0.0' },
  {
    body: { names: ['com.free/*', 'com.pin/*'], versions: '1.0.0' },
    matches: (name, version) => /^com\.(free|pin)\//.test(name) && version === '1.0.0',
  },
];

interface HeldVersion {
  readonly key: string;
  readonly variant: number;
  readonly firstSeen: number;
  policies: string[];
  blocks: string[];
  isApproved: boolean;
  /** Whether it was served until a block held it. */
  readonly wasServed: boolean;
}

const keyOf = (name: string, version: string) => `${name}@${version}`;
const partsOf = (key: string): [name: string, version: string] => key.split('@') as [string, string];
const isMirrored = (key: string) => MIRRORED.includes(partsOf(key)[0]);

/** What reference/admission says, for the settings of this test. Time is in days. */
class Reference {
  day = 0;
  readonly upstream = new Map<string, number>();
  readonly served = new Map<string, number>();
  readonly blocks = new Map<string, Rule>();
  readonly rejected = new Set<string>();
  private readonly known = new Set<string>();
  private isFirst = true;
  held: HeldVersion[] = [];

  sync(): void {
    const known = new Set(this.known);
    if (this.isFirst) for (const key of this.upstream.keys()) known.add(partsOf(key)[0]);
    for (const [key, variant] of this.upstream) this.judge(key, variant, known);
    for (const key of [...this.served.keys()])
      if (isMirrored(key) && !this.upstream.has(key)) this.served.delete(key);
    this.held = this.held.filter(({ key }) => !isMirrored(key) || this.upstream.has(key));
    if (this.isFirst) for (const name of known) this.known.add(name);
    this.isFirst = false;
  }

  private judge(key: string, variant: number, known: ReadonlySet<string>): void {
    const [name, version] = partsOf(key);
    const same = this.held.find((item) => item.key === key && item.variant === variant);
    const isServed = this.served.get(key) === variant;
    const firstSeen = same?.firstSeen ?? this.day;
    let policies: string[] = [];
    if (name.startsWith('com.pin/')) policies = version.startsWith('1.') ? [] : ['rule'];
    else {
      if (this.day - firstSeen < MIN_AGE) policies.push('minAge');
      if (!known.has(name)) policies.push('newNames');
    }
    if (isServed || same?.isApproved) policies = [];
    const isRejected = !isServed && this.rejected.has(`${key}#${variant}`);
    const blocks = this.matching(key);
    const isHeld = !isRejected && policies.length + blocks.length > 0;
    this.held = this.held.filter(
      (item) => item.key !== key || (isHeld && (item.isApproved || item === same)),
    );
    if (isRejected) return;
    if (!isHeld) this.serve(key, variant);
    else if (same) Object.assign(same, { policies, blocks });
    else this.held.push({ key, variant, firstSeen, policies, blocks, isApproved: false, wasServed: false });
  }

  matching(key: string): string[] {
    return [...this.blocks].filter(([, { matches }]) => matches(...partsOf(key))).map(([id]) => id);
  }

  private serve(key: string, variant: number): void {
    this.served.set(key, variant);
    this.known.add(partsOf(key)[0]);
    this.held = this.held.filter((item) => item.key !== key);
  }

  /** Serves a held version; newer documents of it stay held. */
  private admit(item: HeldVersion): void {
    const rank = (one: HeldVersion) => (one.wasServed ? 0 : 1_000_000) + this.held.indexOf(one);
    const newer = this.held.filter((one) => one.key === item.key && rank(one) > rank(item));
    this.serve(item.key, item.variant);
    this.held.push(...newer);
  }

  changeBlocks(): void {
    for (const item of [...this.held]) item.blocks = this.matching(item.key);
    const freed = this.held.filter((item) => item.policies.length + item.blocks.length === 0);
    // The newest document of a version wins.
    for (const item of [
      ...freed.filter((one) => !one.wasServed).reverse(),
      ...freed.filter((one) => one.wasServed).reverse(),
    ])
      if (this.held.includes(item)) this.admit(item);
    for (const [key, variant] of [...this.served]) {
      const blocks = this.matching(key);
      if (blocks.length === 0) continue;
      this.served.delete(key);
      const held = { key, variant, firstSeen: this.day, policies: [], blocks, isApproved: true };
      this.held.push({ ...held, wasServed: true });
    }
  }

  /** Returns the expected status. */
  publish(key: string, variant: number): number {
    if (this.served.has(key) || this.held.some((item) => item.key === key)) return 409;
    if (this.matching(key).length > 0) return 403;
    if (!key.startsWith('com.rev/')) {
      this.serve(key, variant);
      return 201;
    }
    this.held.push({
      key,
      variant,
      firstSeen: 0,
      policies: ['review'],
      blocks: [],
      isApproved: false,
      wasServed: false,
    });
    return 202;
  }

  approve(item: HeldVersion): number {
    if (item.isApproved) return 409;
    item.policies = [];
    item.isApproved = true;
    if (item.blocks.length === 0) this.admit(item);
    return 200;
  }

  end(item: HeldVersion, isRejection: boolean): void {
    this.held = this.held.filter((one) => one !== item);
    if (isRejection && isMirrored(item.key)) this.rejected.add(`${item.key}#${item.variant}`);
  }

  shownItems(): string[] {
    return this.held
      .map(({ key, policies, blocks }) => `${key}: ${[...policies, ...blocks.map(() => 'block')].join('+')}`)
      .sort();
  }

  shownVersions(): string[] {
    const order = new Map(VERSIONS.map((version, index) => [version, index]));
    const latest = new Map<string, string>();
    for (const key of this.served.keys()) {
      const [name, version] = partsOf(key);
      const before = latest.get(name);
      if (before === undefined || (order.get(version) ?? 0) > (order.get(before) ?? 0))
        latest.set(name, version);
    }
    return [...this.served]
      .map(([key, variant]) => {
        const [name, version] = partsOf(key);
        return `${key}#${variant}${latest.get(name) === version ? ' latest' : ''}`;
      })
      .sort();
  }
}

const aDocument = (key: string, variant: number) => {
  const [name, version] = partsOf(key);
  return aServer(name, version, { description: `variant ${variant}` });
};

const service = aService({ mode: 'full' })
  .source('mirror', {
    servers: MIRRORED.slice(0, 3).map((name) => aDocument(keyOf(name, '1.0.0'), 0)),
    claims: ACME,
    admission: {
      minAge: `${MIN_AGE}d`,
      newNames: 'hold',
      rules: [{ names: ['com.pin/*'], versions: '^1.0' }],
    },
  })
  .source('internal', {
    kind: 'managed',
    settings: { review: [{ names: ['com.rev/*'], reviewers: { team: 'review' } }] },
    claims: ACME,
  })
  .registry('main', { sources: ['internal', 'mirror'], claims: ACME })
  .runs();
demandRevisions(service);

interface Listed {
  servers: { server: Document; _meta: Record<string, { isLatest: boolean }> }[];
}

it(`every answer equals the reference, in ${STEPS} random steps`, async () => {
  const random = new Random(seed);
  const reference = new Reference();
  for (const name of MIRRORED.slice(0, 3)) reference.upstream.set(keyOf(name, '1.0.0'), 0);
  // 20,000 steps take longer than tokens of tests are valid.
  const exp = Math.floor(Date.now() / 1_000) + 86_400;
  const [admin, writer, reviewer] = [ADMIN, WRITER, REVIEWER].map((claims) => service.as({ ...claims, exp }));
  if (!admin || !writer || !reviewer) throw new Error('unreachable');
  let syncs = 0;
  const items = async (): Promise<Item[]> =>
    ((await admin.get('/v1/admission?limit=100')).json as { items: Item[] }).items;
  const served = async () =>
    ((await admin.get('/registry/main/v0.1/servers?limit=100')).json as Listed).servers
      .map(({ server, _meta: meta }) => {
        const { isLatest } = meta['io.modelcontextprotocol.registry/official'] ?? {};
        const variant = String(server['description']).replace('variant ', '');
        return `${String(server['name'])}@${String(server['version'])}#${variant}${isLatest ? ' latest' : ''}`;
      })
      .sort();
  const sync = async () => {
    const servers = [...reference.upstream].map(([key, variant]) => aDocument(key, variant));
    // Unchanged content would not be judged again, and waiting for due versions takes seconds, too slow for this test.
    syncs += 1;
    await service.rewrite('mirror', {
      text: `${JSON.stringify(aCatalogue(servers))}${' '.repeat(syncs % 1_000)}`,
    });
    await service.synced('mirror');
    reference.sync();
  };
  const changeUpstream = async () => {
    const key = keyOf(random.pick(MIRRORED), random.pick(VERSIONS));
    if (reference.upstream.has(key) && reference.upstream.size > 2 && random.chance(0.4))
      reference.upstream.delete(key);
    else reference.upstream.set(key, random.between(0, 2));
    await sync();
  };
  const passDays = async () => {
    const days = random.between(1, 12);
    reference.day += days;
    await passTime(service, `${days} days`);
    await sync();
  };
  const publish = async () => {
    const key = keyOf(random.pick(PUBLISHED), random.pick(VERSIONS));
    const variant = random.between(0, 2);
    const reply = await writer.post('/v1/entries', { server: aDocument(key, variant), claims: ACME });
    expect(reply.status, `${key} ${reply.text}`).toBe(reference.publish(key, variant));
  };
  const decideOne = async () => {
    const all = await items();
    if (all.length === 0) return;
    const item = random.pick(all);
    const key = keyOf(item.name, item.version ?? '');
    const details = (await admin.get(`/v1/admission/${item.id}`)).json as { document: Document };
    const variant = Number(String(details.document['description']).replace('variant ', ''));
    const known = reference.held.find((one) => one.key === key && one.variant === variant);
    if (!known) throw new Error(`${key} is not held in the reference`);
    const decision = random.pick(['approve', 'approve', 'reject', 'withdraw']);
    const decider = item.name.startsWith('com.rev/') ? reviewer : admin;
    const reply = await decide(decision === 'withdraw' ? writer : decider, item, decision);
    if (decision === 'approve') expect(reply.status, reply.text).toBe(reference.approve(known));
    else if (decision === 'withdraw' && isMirrored(key)) expect(reply.status).toBe(404);
    else if (decision === 'reject' && known.isApproved) expect(reply.status, reply.text).toBe(409);
    else {
      expect(reply.status, reply.text).toBe(200);
      reference.end(known, decision === 'reject');
    }
  };
  const changeBlock = async () => {
    const id = random.pick(['one', 'two']);
    if (reference.blocks.has(id) && random.chance(0.6)) {
      expect((await admin.delete(`/v1/blocks/${id}`)).status).toBe(204);
      reference.blocks.delete(id);
    } else {
      const rule = random.pick(RULES);
      const reply = await admin.put(`/v1/blocks/${id}`, { ...rule.body, reason: id });
      expect(reply.status).toBe(reference.blocks.has(id) ? 200 : 201);
      reference.blocks.set(id, rule);
    }
    reference.changeBlocks();
  };
  await sync();
  for (let step = 1; step <= STEPS; step += 1) {
    const action = random.weigh<() => Promise<void>>([
      [5, changeUpstream],
      [3, passDays],
      [5, publish],
      [6, decideOne],
      [3, changeBlock],
    ]);
    const what = `step ${step} of MODEL_SEED=${seed}: ${action.name}`;
    await action();
    expect({ what, served: await served() }).toEqual({ what, served: reference.shownVersions() });
    expect({ what, items: shortly(await items()) }).toEqual({ what, items: reference.shownItems() });
  }
});
