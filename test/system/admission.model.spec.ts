import { randomInt } from 'node:crypto';
import { expect, it } from 'vitest';
import { decide, type Item, passTime, shortly } from '../support/admission.js';
import { aZip } from '../support/archives.js';
import { aCatalogue, aServer, aSkill, type Document } from '../support/documents.js';
import { entryAt } from '../support/publishing.js';
import { Random } from '../support/random.js';
import { demandRevisions } from '../support/revisions.js';
import { aService } from '../support/service.js';
import { inSoak } from '../support/soak.js';
import { within } from '../support/within.js';

const STEPS = Number(process.env['ADMISSION_STEPS'] ?? inSoak(20_000, 60));
/** A failure prints its seed: MODEL_SEED=… npx vitest run admission.model takes the same steps. */
const seed = Number(process.env['MODEL_SEED'] ?? inSoak(randomInt(2 ** 31), 7));

const MIN_AGE = 10;
const VERSIONS = ['1.0.0', '1.1.0', '2.0.0'];
const MIRRORED = ['com.a/x', 'com.a/w', 'com.pin/y', 'com.late/z'];
const PUBLISHED = ['com.rev/p', 'com.free/q'];
/** The second is reviewed if it has hooks. */
const PLUGINS = ['com.plug/free', 'com.plug/hooks-reviewed'];
const CONTENTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  plain: { 'README.md': 'plain' },
  pad: { '.mcp.json': '{"mcpServers":{"db":{"command":"npx","args":["left-pad@1.3.0"]}}}' },
  hooks: {
    'README.md': 'hooks',
    'hooks/hooks.json': '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"echo"}]}]}}',
  },
  broken: { '.mcp.json': '{' },
};
const ACME = { org: 'acme' };
const ADMIN = { sub: 'ada', org: 'acme', role: ['super-admin', 'admin'] };
const WRITER = { sub: 'wim', org: 'acme', role: 'writer' };
const REVIEWER = { sub: 'rita', org: 'acme', role: 'writer', team: 'review' };

interface Rule {
  readonly body: Document;
  readonly matches: (name: string, version: string, content: string | undefined) => boolean;
}

const RULES: readonly Rule[] = [
  { body: { names: ['com.a/*'] }, matches: (name) => name.startsWith('com.a/') },
  { body: { names: ['*/x', 'com.rev/?'] }, matches: (name) => ['com.a/x', 'com.rev/p'].includes(name) },
  { body: { versions: '>=1.5' }, matches: (_, version) => version === '2.0.0' },
  {
    body: { names: ['com.free/*', 'com.pin/*'], versions: '1.0.0' },
    matches: (name, version) => /^com\.(free|pin)\//.test(name) && version === '1.0.0',
  },
  {
    body: { packages: [{ registryType: 'npm', identifier: 'left-*', version: '^1' }] },
    matches: (_, __, content) => content === 'pad' || content === 'broken',
  },
  {
    body: { remotes: ['https://evil.example/*'], names: ['com.plug/*'] },
    matches: (_, __, content) => content === 'broken',
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
const isPlugin = (key: string) => PLUGINS.includes(partsOf(key)[0]);
const mayHaveHooks = (content: string | undefined) => content !== 'plain' && content !== 'pad';
const contentWith = (members: Document) =>
  'hooks' in members ? 'hooks' : 'servers' in members ? 'pad' : 'unreadable' in members ? 'broken' : 'plain';
const isMirrored = (key: string) => MIRRORED.includes(partsOf(key)[0]);

/** The rules of reference/admission for the settings of this test. Time is in days. */
class Reference {
  day = 0;
  readonly upstream = new Map<string, number>();
  readonly served = new Map<string, number>();
  readonly blocks = new Map<string, Rule>();
  readonly rejected = new Set<string>();
  private readonly known = new Set<string>();
  private isFirst = true;
  held: HeldVersion[] = [];
  /** The content of plugins, served or held. */
  readonly contents = new Map<string, string>();

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
    return [...this.blocks]
      .filter(([, { matches }]) => matches(...partsOf(key), this.contents.get(key)))
      .map(([id]) => id);
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
    for (const key of [...this.served.keys()]) this.holdBlocked(key);
  }

  private holdBlocked(key: string): void {
    const blocks = this.matching(key);
    const variant = this.served.get(key);
    if (blocks.length === 0 || variant === undefined) return;
    this.served.delete(key);
    const held = { key, variant, firstSeen: this.day, policies: [], blocks, isApproved: true };
    this.held.push({ ...held, wasServed: true });
  }

  /** Returns the expected status. */
  upload(key: string, content: string, isReviewer: boolean): number {
    const item = this.held.find((one) => one.key === key);
    const isReviewed = key.startsWith('com.plug/hooks-') && mayHaveHooks(content);
    if (this.served.has(key)) {
      if (this.contents.has(key)) return 409;
      if (isReviewed && !isReviewer) return 403;
      this.contents.set(key, content);
      this.holdBlocked(key);
      return 204;
    }
    if (!item || isReviewer || item.isApproved) return 404;
    if (this.contents.has(key)) return 409;
    if (!item.policies.includes('content')) return 404;
    this.contents.set(key, content);
    item.policies = isReviewed ? ['review'] : [];
    item.blocks = this.matching(key);
    if (item.policies.length + item.blocks.length === 0) this.admit(item);
    return 204;
  }

  /** Returns the expected status. */
  publish(key: string, variant: number): number {
    if (this.served.has(key) || this.held.some((item) => item.key === key)) return 409;
    if (this.matching(key).length > 0) return 403;
    const isReviewed = key.startsWith('com.rev/');
    if (!isReviewed && !key.startsWith('com.plug/hooks-')) {
      this.serve(key, variant);
      return 201;
    }
    this.held.push({
      key,
      variant,
      firstSeen: 0,
      policies: [isReviewed ? 'review' : 'content'],
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
    this.contents.delete(item.key);
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
        const content = this.contents.has(key) ? ` ${this.contents.get(key)}` : '';
        return `${key}#${variant}${content}${latest.get(name) === version ? ' latest' : ''}`;
      })
      .sort();
  }
}

const aDocument = (key: string, variant: number) => {
  const [name, version] = partsOf(key);
  const description = { description: `variant ${variant}` };
  return PLUGINS.includes(name) ? aSkill(name, version, description) : aServer(name, version, description);
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
    settings: {
      review: [
        { names: ['com.plug/hooks-*'], contains: ['hooks'], reviewers: { team: 'review' } },
        { names: ['com.rev/*'], reviewers: { team: 'review' } },
      ],
    },
    claims: ACME,
  })
  .registry('main', { sources: ['internal', 'mirror'], claims: ACME })
  .runs();
demandRevisions(service);

const ZIP = { 'Content-Type': 'application/zip' };

interface Listed {
  servers: { server: Document; _meta: Record<string, { isLatest: boolean }> }[];
}

it(`every response equals the reference, in ${STEPS} random steps`, async () => {
  const random = new Random(seed);
  const reference = new Reference();
  for (const name of MIRRORED.slice(0, 3)) reference.upstream.set(keyOf(name, '1.0.0'), 0);
  // 20,000 steps take longer than the tests' tokens are valid.
  const exp = Math.floor(Date.now() / 1_000) + 86_400;
  const [admin, writer, reviewer] = [ADMIN, WRITER, REVIEWER].map((claims) => service.as({ ...claims, exp }));
  if (!admin || !writer || !reviewer) throw new Error('unreachable');
  let syncs = 0;
  const items = async (): Promise<Item[]> =>
    ((await admin.get('/v1/admission?limit=100')).json as { items: Item[] }).items;
  const servedPlugins = async () => {
    const shown: string[] = [];
    for (const name of PLUGINS) {
      const at = `/registry/main/v0.1/x/dev.toolhive/plugins/${name}/versions`;
      const reply = await admin.get(at);
      const versions = reply.status === 200 ? (reply.json as { plugins: Document[] }).plugins : [];
      for (const { version, description } of versions) {
        const members = await admin.get(`/registry/main/x/content/plugin/${name}/${String(version)}/members`);
        const content = members.status === 200 ? ` ${contentWith(members.json as Document)}` : '';
        const latest = versions[0]?.['version'] === version ? ' latest' : '';
        const variant = String(description).replace('variant ', '');
        shown.push(`${name}@${String(version)}#${variant}${content}${latest}`);
      }
    }
    return shown;
  };
  const served = async () => [...(await servedServers()), ...(await servedPlugins())].sort();
  const servedServers = async () =>
    ((await admin.get('/registry/main/v0.1/servers?limit=100')).json as Listed).servers.map(
      ({ server, _meta: meta }) => {
        const { isLatest } = meta['io.modelcontextprotocol.registry/official'] ?? {};
        const variant = String(server['description']).replace('variant ', '');
        return `${String(server['name'])}@${String(server['version'])}#${variant}${isLatest ? ' latest' : ''}`;
      },
    );
  const sync = async () => {
    const servers = [...reference.upstream].map(([key, variant]) => aDocument(key, variant));
    // Unchanged content would not be judged again, and waiting for due versions takes seconds: too slow for this test.
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
    const key = keyOf(random.pick([...PUBLISHED, ...PLUGINS]), random.pick(VERSIONS));
    const variant = random.between(0, 2);
    const type = isPlugin(key) ? 'plugin' : 'server';
    const reply = await writer.post('/v1/entries', { [type]: aDocument(key, variant), claims: ACME });
    expect(reply.status, `${key} ${reply.text}`).toBe(reference.publish(key, variant));
  };
  const upload = async () => {
    const key = keyOf(random.pick(PLUGINS), random.pick(VERSIONS));
    const [name, version] = partsOf(key);
    const content = random.pick(Object.keys(CONTENTS));
    const isReviewer = random.chance(0.3);
    const files = Object.entries(CONTENTS[content] ?? {}).map(([path, data]) => ({ name: path, data }));
    const at = entryAt('plugin', name, `/versions/${version}/content`);
    const reply = await (isReviewer ? reviewer : writer).send('PUT', at, { body: aZip(files), headers: ZIP });
    expect(reply.status, `${key} ${content} ${reply.text}`).toBe(reference.upload(key, content, isReviewer));
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
    const isReviewed =
      item.name.startsWith('com.rev/') ||
      (item.name.startsWith('com.plug/hooks-') && mayHaveHooks(reference.contents.get(key)));
    const decider = isReviewed ? reviewer : admin;
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
      [7, publish],
      [6, upload],
      [6, decideOne],
      [3, changeBlock],
    ]);
    const what = `step ${step} of MODEL_SEED=${seed}: ${action.name}`;
    await action();
    // Publications that need no review are released just after their content is stored.
    if (action === upload)
      await within(10_000, async () => expect(await served(), what).toEqual(reference.shownVersions()));
    expect({ what, served: await served() }).toEqual({ what, served: reference.shownVersions() });
    expect({ what, items: shortly(await items()) }).toEqual({ what, items: reference.shownItems() });
  }
});
