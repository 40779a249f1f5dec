import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { resolveRoles } from '../../dist/authz/access-policy.js';
import { type Config, oauthInUse } from '../../dist/config/config.js';
import { loadConfig } from '../../dist/config/load-config.js';

const ROOT = resolve(import.meta.dirname, '../..');
// The Helm chart's configurations are read from its rendered manifests.
const FOLDERS = ['examples', 'demo', 'deploy', 'test/conventions/chart'];
const TEMPLATES = /^helm\/[^/]+\/templates\//;
const COMPOSE = 'docker-compose.yml';

interface Shipped {
  name: string;
  text: string;
}

interface ConfigMap {
  kind?: string;
  data?: Record<string, string>;
  auth?: unknown;
}

/** Every configuration that ships with the program: separate files and those inside manifests. */
const SHIPPED: Shipped[] = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.ya?ml$/.test(file) && !TEMPLATES.test(file))
    .flatMap((file) => configurationsIn(`${folder}/${file}`)),
);

function configurationsIn(file: string): Shipped[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  return parseAllDocuments(text).flatMap((document) => {
    const { kind, data, auth } = document.toJS() as ConfigMap;
    if (auth !== undefined) return [{ name: file, text }];
    if (kind !== 'ConfigMap') return [];
    return Object.entries(data ?? {})
      .filter(([key]) => key.endsWith('.yaml'))
      .map(([key, inner]) => ({ name: `${file} ${key}`, text: inner }));
  });
}

describe('a shipped configuration', () => {
  let folder = '';
  beforeAll(async () => (folder = await mkdtemp(join(tmpdir(), 'registry-shipped-'))));
  afterAll(() => rm(folder, { recursive: true }));

  // Their secrets exist only where they are deployed.
  const load = async (text: string): Promise<Config> => {
    const file = join(folder, 'registry.yaml');
    const secret = join(folder, 'secret');
    await writeFile(secret, '-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----');
    const key = join(folder, 'key');
    await writeFile(key, 'k'.repeat(43));
    const withKeys = text.replaceAll(/(?<=secretFile: )\S*\/run\/secrets\/[^\s,}]+/g, key);
    await writeFile(file, withKeys.replaceAll(/\S*\/run\/secrets\/[^\s,}]+/g, secret));
    return loadConfig(file, {}, {}).config;
  };

  it('is in the list of this test', () => {
    const compose = parse(readFileSync(join(ROOT, COMPOSE), 'utf8')) as {
      services: { registry: { volumes: string[] } };
    };
    const mounted = compose.services.registry.volumes.map((volume) =>
      volume.split(':')[0]?.replace('./', ''),
    );
    const names = SHIPPED.map(({ name }) => name);
    expect(names).toContain(mounted.find((file) => file?.endsWith('.yaml')));
    expect(names).toEqual(
      expect.arrayContaining([
        'examples/cluster.yaml',
        'examples/sample.yaml',
        'demo/registry.yaml',
        'deploy/kubernetes/registry.yaml registry.yaml',
        'test/conventions/chart/default.yaml registry.yaml',
      ]),
    );
  });

  it.each(SHIPPED)('requires more than a valid token for changes: $name', async ({ name, text }) => {
    const { auth, readOnly } = await load(text);
    const oauth = oauthInUse(auth);
    if (!oauth) {
      // Exception: loopback only, with that stated in its first lines, or nothing can be changed.
      const [opening = ''] = text.split('\n\n');
      const onLoopback =
        name.startsWith('examples/') && opening.startsWith('#') && opening.includes('for loopback only');
      expect(readOnly || onLoopback).toBe(true);
      return;
    }
    expect(auth.authz, 'without it every valid token has every role').toBeDefined();
    for (const { issuerUrl, audience } of oauth.providers) {
      const held = { iss: issuerUrl, aud: audience, sub: randomUUID(), exp: 1, iat: 1, jti: randomUUID() };
      if (auth.authz) expect(resolveRoles(held, auth.authz.roles)).toEqual([]);
    }
  });

  it('meant only for loopback is served only on loopback', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const serving = Object.values(scripts).filter((script) => script.includes('examples/'));
    expect(serving).toHaveLength(1);
    expect(serving[0]).toContain('--address 127.0.0.1:');
    expect(readFileSync(join(ROOT, 'examples/sample.yaml'), 'utf8')).toContain('for loopback only');
  });
});
