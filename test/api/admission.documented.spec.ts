import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Item, itemsFor, passTime, served, shortly } from '../support/admission.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer, type Document } from '../support/documents.js';
import { Receiver, aWebhookSecret } from '../support/receiver.js';
import { aService } from '../support/service.js';
import { anUpstreamRegistry } from '../support/upstream-registry.js';

const [, ...RECIPES] = readFileSync('docs/admission.md', 'utf8').split(/^## Recipe: /m);
const PATIENCE = { interval: 100 };
const ACME = { org: 'acme' };

interface Configuration {
  sources: { admission: Document; managed: Document }[];
  admission: { webhooks: Document[] };
}

/** The code blocks of the recipe whose title begins with this text. */
function blocksOf(title: string, language: string): string[] {
  const recipe = RECIPES.find((one) => one.startsWith(title)) ?? '';
  return [...recipe.matchAll(/```(\w+)\n(.*?)```/gs)].flatMap(([, lang, text = '']) =>
    lang === language ? [text] : [],
  );
}

function configurationOf(title: string): Configuration {
  return parse(blocksOf(title, 'yaml')[0] ?? '') as Configuration;
}

/** Runs a command as written, with curl. */
async function run(command: string, environment: Record<string, string>): Promise<unknown> {
  const env = { PATH: process.env['PATH'], NO_PROXY: '*', ...environment };
  const { stdout } = await promisify(execFile)('sh', ['-ec', command], { env });
  return JSON.parse(stdout);
}

describe('the recipe for a mirror with a delay', () => {
  const upstream = anUpstreamRegistry().runs();
  const service = aService();
  beforeAll(() => {
    const npm = { registryType: 'npm', identifier: 'tool', version: '1', transport: { type: 'stdio' } };
    upstream.put([
      aServer('com.acme/own', '1.0.0', { packages: [npm] }),
      aServer('io.github.acme/tool', '1.2.3'),
      aServer('io.github.acme/tool', '2.0.0'),
      aServer('io.github.evil/one'),
      aServer('io.github.other/one'),
    ]);
    const [{ admission } = { admission: {} }] = configurationOf('mirror').sources;
    service.source('official', { kind: 'api', settings: { endpoint: upstream.url }, admission });
  });
  service.registry('default', { sources: ['official'] }).runs();

  it('admits, holds, rejects and rewrites as its comments say', async () => {
    const report = await service.synced('official');
    expect(report.skipped).toMatchObject([{ name: 'io.github.evil/one' }]);
    expect(JSON.stringify(report.skipped)).toContain('see SEC-12');
    expect(await served(service, 'default')).toEqual(['com.acme/own@1.0.0', 'io.github.acme/tool@1.2.3']);
    expect(shortly(await itemsFor(service))).toEqual([
      'io.github.acme/tool@2.0.0: rule',
      'io.github.other/one@1.0.0: minAge',
    ]);
    const own = await service.get('/registry/default/v0.1/servers/com.acme%2Fown/versions/latest');
    expect(own.text).toContain('"registryBaseUrl":"https://packages.example.com/npm"');
    await passTime(service, '8 days');
    await expect.poll(() => served(service, 'default'), PATIENCE).toContain('io.github.other/one@1.0.0');
  });
});

describe('the recipes for a managed source', () => {
  const scanner = new Receiver().runs();
  const service = aService({ mode: 'full' });
  const writer = { sub: 'wim', org: 'acme', role: 'writer' };
  const environment = (claims: Document) => ({
    REGISTRY: service.origin,
    TOKEN: service.issuer.sign(claims),
  });
  const publish = (name: string, more: Document = {}) =>
    service.as(writer).post('/v1/entries', { server: aServer(name, '1.0.0', more), claims: ACME });
  const [{ managed } = { managed: {} }] = configurationOf('one team').sources;
  service
    .source('internal', { kind: 'managed', settings: managed, claims: ACME })
    .registry('main', { sources: ['internal'], claims: {} })
    .runs();

  it('publish a reviewed name after two approvals', async () => {
    const name = 'com.acme/payments-api';
    expect((await publish(name)).status).toBe(202);
    const [list = '', approve = ''] = blocksOf('one team', 'sh')[0]?.split(/\n(?=curl)/) ?? [];
    for (const [sub, status] of [
      ['rita', 'held'],
      ['rolf', 'admitted'],
    ] as const) {
      const reviewer = environment({ sub, org: 'acme', team: 'risk' });
      const { items } = (await run(list, reviewer)) as { items: Item[] };
      expect(items).toMatchObject([{ name, status: 'held' }]);
      const [item] = items;
      if (!item) return;
      const decided = await run(approve, { ...reviewer, ID: item.id, DIGEST: item.digest });
      expect(decided).toMatchObject({ status, approvals: { required: 2 } });
    }
    expect(await served(service.as(ACME))).toEqual([`${name}@1.0.0`]);
  });

  it('block a compromised package', async () => {
    const using = (version: string) => ({
      packages: [{ registryType: 'npm', identifier: 'left-pad', version, transport: { type: 'stdio' } }],
    });
    for (const [name, version] of [
      ['com.acme/bad', '1.3.2'],
      ['com.acme/good', '1.3.4'],
    ] as const)
      expect((await publish(name, using(version))).status).toBe(201);
    const [block = ''] = blocksOf('block', 'sh');
    expect(await run(block, environment(SUPER_ADMIN))).toMatchObject({ id: 'sec-14' });
    const shown = await served(service.as(ACME));
    expect(shown).toContain('com.acme/good@1.0.0');
    expect(shown).not.toContain('com.acme/bad@1.0.0');
  });

  it('ask a scanner', async () => {
    const [webhook] = configurationOf('ask').admission.webhooks;
    const secretFile = service.write('scan', aWebhookSecret());
    await service.reload((edited) =>
      edited.configuration({ admission: { webhooks: [{ ...webhook, url: scanner.url, secretFile }] } }),
    );
    const [answer = ''] = blocksOf('ask', 'json');
    scanner.answer = () => ({ status: 200, body: answer });
    const reply = await publish('com.acme/shell');
    expect([reply.status, reply.json]).toMatchObject([
      202,
      { admission: { status: 'held', reasons: [{ policy: 'webhook', message: 'It asks for a shell' }] } },
    ]);
  });
});
