import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { refusalOf } from '../../test/support/refused-configuration.js';
import { loadConfig } from './load-config.js';

const directory = mkdtempSync(join(tmpdir(), 'registry-webhooks-'));
const written = (name: string, content: string) => {
  writeFileSync(join(directory, name), content);
  return name;
};
const secretOf = (bytes: number) => `whsec_${Buffer.alloc(bytes, 7).toString('base64')}`;
const secretFile = written('secret', `${secretOf(24)}\n`);
const siem = { name: 'siem', url: 'https://siem.example.com/in?token=1', secretFile };

function read(webhooks: unknown, environment: NodeJS.ProcessEnv = {}) {
  const file = join(
    directory,
    written('config.yaml', JSON.stringify({ auth: { mode: 'anonymous' }, webhooks })),
  );
  return loadConfig(file, environment, {}).config.webhooks;
}

const problems = (webhooks: unknown, environment?: NodeJS.ProcessEnv) =>
  (refusalOf(() => read(webhooks, environment))?.problems ?? []).map(
    ({ path, message }) => `${path}: ${message}`,
  );

describe('a webhook', () => {
  it('has every action and is retried for a day by default', () => {
    expect(read([siem])).toEqual([
      {
        ...{ name: 'siem', url: siem.url },
        secrets: [secretOf(24)],
        actions: null,
        retryForMs: 86_400_000,
        as: null,
      },
    ]);
    expect(read(undefined)).toEqual([]);
  });

  it('may have actions, a view, and two secrets', () => {
    const two = written('two', `${secretOf(32)}\r\n${secretOf(24)}\n\n`);
    const as = { claims: { org: 'acme', team: ['a', 'b'] }, registry: 'default' };
    const actions = ['entry.*', 'source.sync', '*', 'entry.claims.*', 'entry.added'];
    expect(read([{ ...siem, secretFile: two, as, actions, retryFor: '90s' }])).toEqual([
      { name: 'siem', url: siem.url, secrets: [secretOf(32), secretOf(24)], actions, retryForMs: 90_000, as },
    ]);
    expect(read([{ ...siem, as: { claims: { org: 'acme' } } }])[0]?.as).toEqual({
      claims: { org: 'acme' },
      registry: null,
    });
  });

  it.each<[string, unknown, string]>([
    ['a duplicate name', [siem, siem], 'webhooks[1].name: "siem" is already in the list'],
    ['a name that is not a DNS label', [{ ...siem, name: 'Siem' }], 'webhooks[0].name: must be a DNS label'],
    ['no URL', [{ name: 'a', secretFile }], 'webhooks[0].url: is required'],
    ['another scheme', [{ ...siem, url: 'ftp://a' }], 'webhooks[0].url: must be an http:// or https:// URL'],
    [
      'a password',
      [{ ...siem, url: 'https://a:b@c' }],
      'webhooks[0].url: must not contain a user or a password',
    ],
    ['http beyond loopback', [{ ...siem, url: 'http://10.0.0.1/' }], 'webhooks[0].url: must be https://'],
    [
      'an unknown action',
      [{ ...siem, actions: ['entry.publihs'] }],
      'webhooks[0].actions[0]: "entry.publihs" matches',
    ],
    [
      'a pattern without a match',
      [{ ...siem, actions: ['entry.*', 'ent*'] }],
      'webhooks[0].actions[1]: "ent*" matches',
    ],
    [
      'a view change without a view',
      [{ ...siem, actions: ['entry.added'] }],
      'webhooks[0].actions[0]: "entry.added"',
    ],
    ['no action', [{ ...siem, actions: [] }], 'webhooks[0].actions: must not be an empty list'],
    ['no secret', [{ name: 'a', url: 'https://a' }], 'webhooks[0].secretFile: is required'],
    ['a missing file', [{ ...siem, secretFile: 'missing' }], 'webhooks[0].secretFile: the file'],
    ['a short secret', [{ ...siem, secretFile: written('short', secretOf(23)) }], 'at least 24 bytes'],
    [
      'a secret without its prefix',
      [{ ...siem, secretFile: written('bare', 'A'.repeat(40)) }],
      'must contain whsec_',
    ],
    [
      'three secrets',
      [{ ...siem, secretFile: written('three', `${secretOf(24)}\n`.repeat(3)) }],
      'one secret, or two',
    ],
    [
      'an unlimited retry',
      [{ ...siem, retryFor: '31d' }],
      'webhooks[0].retryFor: must be a duration from 1s to 30d',
    ],
    ['a redirect policy', [{ ...siem, redirects: 'any' }], 'webhooks[0].redirects: is not a known key'],
    ['a view without claims', [{ ...siem, as: {} }], 'webhooks[0].as.claims: is required'],
    ['nested claims', [{ ...siem, as: { claims: { a: {} } } }], 'webhooks[0].as.claims'],
    ['too many', Array.from({ length: 51 }, (_, at) => ({ ...siem, name: `a${at}` })), 'more than 50 items'],
  ])('with %s is refused', (_, webhooks, problem) => {
    const found = problems(webhooks);
    expect(found.join('\n')).toContain(problem);
    expect(found.join('\n')).not.toContain('BwcHBw');
  });

  it('may use http on loopback, and elsewhere with REGISTRY_INSECURE_URLS', () => {
    expect(problems([{ ...siem, url: 'http://127.0.0.1:1/in' }])).toEqual([]);
    expect(problems([{ ...siem, url: 'http://a' }], { REGISTRY_INSECURE_URLS: 'true' })).toEqual([]);
  });
});

describe('an admission webhook', () => {
  const scan = { name: 'scan', url: 'https://scan.example.com/admit', secretFile };
  const readAll = (webhooks: unknown) => {
    const file = { auth: { mode: 'anonymous' }, admission: { webhooks } };
    return loadConfig(join(directory, written('admission.yaml', JSON.stringify(file))), {}, {}).config
      .admission.webhooks;
  };

  it('has 5 s to respond about everything by default, and holds on failure', () => {
    const { name, url } = scan;
    const defaults = { on: ['publish', 'sync'], timeoutMs: 5_000, onFailure: 'hold' };
    expect(readAll([scan])).toEqual([{ name, url, secrets: [secretOf(24)], ...defaults }]);
    const others = { on: ['sync'], timeout: '30s', onFailure: 'admit' };
    expect(readAll([{ ...scan, ...others }])).toMatchObject([
      { on: ['sync'], timeoutMs: 30_000, onFailure: 'admit' },
    ]);
    expect(readAll(Array.from({ length: 10 }, (_, at) => ({ ...scan, name: `a${at}` })))).toHaveLength(10);
  });

  it.each<[string, unknown, string]>([
    ['a duplicate name', [scan, scan], 'admission.webhooks[1].name: "scan" is already in the list'],
    [
      'http beyond loopback',
      [{ ...scan, url: 'http://10.0.0.1/' }],
      'admission.webhooks[0].url: must be https://',
    ],
    ['a missing file', [{ ...scan, secretFile: 'missing' }], 'admission.webhooks[0].secretFile: the file'],
    ['a short secret', [{ ...scan, secretFile: written('short', secretOf(23)) }], 'at least 24 bytes'],
    ['nothing to ask about', [{ ...scan, on: [] }], 'admission.webhooks[0].on: must not be an empty list'],
    ['an unknown event', [{ ...scan, on: ['approve'] }], 'admission.webhooks[0].on[0]'],
    ['a long timeout', [{ ...scan, timeout: '31s' }], 'admission.webhooks[0].timeout: must be a duration'],
    ['another outcome', [{ ...scan, onFailure: 'ignore' }], 'admission.webhooks[0].onFailure: must be'],
    ['too many', Array.from({ length: 11 }, (_, at) => ({ ...scan, name: `a${at}` })), 'more than 10 items'],
  ])('with %s is refused', (_, webhooks, problem) => {
    const found = refusalOf(() => readAll(webhooks))?.problems ?? [];
    expect(found.map(({ path, message }) => `${path}: ${message}`).join('\n')).toContain(problem);
  });
});
