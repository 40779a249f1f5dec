import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadConfig } from './load-config.js';
import { ConfigurationError } from './problems.js';

const file = join(mkdtempSync(join(tmpdir(), 'registry-config-')), 'config.yaml');
const anonymous = { mode: 'anonymous' };
const provider = { name: 'a', issuerUrl: 'https://idp.example.com', audience: 'a' };
const oauth = { resourceUrl: 'https://registry.example.com', providers: [provider] };
const syncPolicy = { interval: '30m' };
const source = (settings: object) => ({ auth: anonymous, sources: [{ name: 's', ...settings }] });

function load(tree: object, authMode?: string) {
  writeFileSync(file, JSON.stringify(tree));
  return loadConfig(file, {}, authMode === undefined ? {} : { authMode }).config;
}

it.each<[object, string]>([
  [source({ api: { endpoint: 'https://x' }, syncPolicy }), 'sources[0].api'],
])('%j is valid and yet refused at %s', (tree, path) => {
  const act = () => load(tree);
  expect(act).toThrow(ConfigurationError);
  expect(act).toThrow('not built yet in this version');
  expect(act).toThrow(`  ${path}: `);
});

it.each<[object, string | undefined]>([
  [{ auth: anonymous }, undefined],
  [{ auth: { oauth, authz: { roles: { superAdmin: [{ role: 'boss' }] } } } }, 'anonymous'],
  [source({ file: { path: 'a.json' }, syncPolicy }), undefined],
  [source({ git: { repository: 'https://x/a' }, syncPolicy }), undefined],
  [source({ managed: {} }), undefined],
  [source({ file: { url: 'https://x/a' }, syncPolicy }), undefined],
  [source({ kubernetes: { namespaces: ['tools'] } }), undefined],
  [{ auth: anonymous, adminFileRoot: tmpdir() }, undefined],
])('%j runs, with --auth-mode %s', (tree, authMode) =>
  expect(load(tree, authMode).auth.mode).toBe('anonymous'),
);
