import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { check } from '../../dist/cli/check.js';
import { loadConfig } from '../../dist/config/load-config.js';
import { openRegistries } from '../../dist/config/open-registries.js';
import { readJsonFile } from '../../dist/sync/formats/json-file.js';
import { ReadMemory } from '../../dist/sync/read-memory.js';
import { printed } from '../support/cli.js';

const ROOT = resolve(import.meta.dirname, '../..');
const EXAMPLES = join(ROOT, 'examples');
const files = await readdir(EXAMPLES);
const read = async (file: string) =>
  readJsonFile(
    await readFile(join(EXAMPLES, file)),
    { format: null, namespace: 'com.example', filter: null },
    new ReadMemory().begin(),
  );

describe('the examples', () => {
  let before: string | undefined;
  beforeAll(() => (before = process.cwd()));
  afterAll(() => expect(process.cwd()).toBe(before));

  it.each(files.filter((file) => file.endsWith('.json') && file !== 'marketplace.json'))(
    '%s has no entry that would be skipped',
    async (file) => {
      const { entries, skipped } = await read(file);
      expect(skipped).toEqual([]);
      expect(entries.length).toBeGreaterThan(3);
    },
  );

  it('catalog.json shows every list feature: at least 25 servers and 5 skills, with several versions', async () => {
    const { entries } = await read('catalog.json');
    const names = (type: string) =>
      new Set(entries.filter((entry) => entry.type === type).map((entry) => entry.name));
    expect(names('server').size).toBeGreaterThanOrEqual(25);
    expect(names('skill').size).toBeGreaterThanOrEqual(5);
    expect(entries.length - names('server').size - names('skill').size).toBeGreaterThan(15);
  });

  it('sample.yaml loads', () => {
    const { config, warnings } = loadConfig(join(EXAMPLES, 'sample.yaml'), {}, {});
    expect(warnings).toEqual([]);
    expect(config.sources.map((source) => source.name)).toEqual(['catalog', 'second-team', 'payments']);
  });

  it('formats.yaml loads, and its sources can be read without a network', async () => {
    const { code, output } = await printed(() => check(join(EXAMPLES, 'formats.yaml'), {}, { online: true }));
    expect(output).toMatch(/^source servers: ok \(\S+\/servers\.json: servers, 4 entries\)$/m);
    expect(output).toMatch(/^source plugins: ok \(\S+\/marketplace\.json: marketplace, 4 entries\)$/m);
    expect(code).toBe(0);
  });

  it('the demo configuration loads', () => {
    const { config, warnings } = loadConfig(join(ROOT, 'demo/registry.yaml'), {}, {});
    expect(warnings).toEqual([]);
    expect(config.auth.mode).toBe('oauth');
  });

  it('docker.yaml loads once its secret exists', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'registry-docker-'));
    await writeFile(join(folder, 'password'), 'made by the reader\n');
    const environment = { REGISTRY_DATABASE_PASSWORD_FILE: join(folder, 'password') };
    const { config } = loadConfig(join(EXAMPLES, 'docker.yaml'), environment, {});
    await rm(folder, { recursive: true });
    expect(config.database).toMatchObject({ host: 'postgres', password: 'made by the reader' });
  });

  it('cluster.yaml loads with the files of a pod', async () => {
    const pod = await mkdtemp(join(tmpdir(), 'registry-pod-'));
    const text = await readFile(join(EXAMPLES, 'cluster.yaml'), 'utf8');
    const files = [...text.matchAll(/\S*\/run\/secrets\/\S+/g)].map(([path]) => path);
    expect(files).toHaveLength(4);
    for (const [index, file] of files.entries()) {
      const content = file.endsWith('.crt') ? '-----BEGIN CERTIFICATE-----' : 'a secret';
      await writeFile(join(pod, String(index)), content);
    }
    const inPod = files.reduce((yaml, file, index) => yaml.replace(file, join(pod, String(index))), text);
    await writeFile(join(pod, 'cluster.yaml'), inPod);
    const { config, warnings } = loadConfig(join(pod, 'cluster.yaml'), {}, {});
    await rm(pod, { recursive: true });
    expect(warnings).toEqual([]);
    expect(config.auth.oauth?.providers[0]).toMatchObject({
      name: 'cluster',
      caCert: '-----BEGIN CERTIFICATE-----',
      allowPrivateIP: true,
    });
  });

  it('ide.yaml loads once its key exists, without warnings', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'registry-ide-'));
    const text = await readFile(join(EXAMPLES, 'ide.yaml'), 'utf8');
    await writeFile(join(folder, 'key'), `${'k'.repeat(43)}\n`);
    await writeFile(join(folder, 'ide.yaml'), text.replace('/run/secrets/copilot', join(folder, 'key')));
    const { config, warnings } = loadConfig(join(folder, 'ide.yaml'), {}, {});
    await rm(folder, { recursive: true });
    expect(warnings).toEqual([]);
    expect(openRegistries(config)).toHaveLength(2);
    expect(config.rootRegistry).toBe('ide');
  });

  it('docker-compose.yml reads an uncommitted password, and the docs say how to create it', async () => {
    const text = await readFile(join(ROOT, 'docker-compose.yml'), 'utf8');
    const { services, secrets } = parse(text) as {
      services: Record<string, { environment?: Record<string, string> }>;
      secrets: Record<string, { file: string }>;
    };
    const { file = '' } = secrets['database_password'] ?? {};
    const path = file.replace('./', '');
    expect(await readFile(join(ROOT, '.gitignore'), 'utf8')).toContain(`/${path.split('/')[0]}/\n`);
    const [command] = /mkdir .*/.exec(text) ?? [''];
    expect(command).toContain(`> ${path}`);
    expect(await readFile(join(ROOT, 'README.md'), 'utf8')).toContain(command);
    const variables = Object.values(services).flatMap(({ environment = {} }) => Object.keys(environment));
    expect(variables.filter((name) => /PASSWORD$/.test(name))).toEqual([]);
  });

  it('docker-compose.yml mounts existing files', async () => {
    const compose = parse(await readFile(join(ROOT, 'docker-compose.yml'), 'utf8')) as {
      services: { registry: { volumes: string[] } };
    };
    const files = compose.services.registry.volumes.filter((volume) => volume.startsWith('./'));
    expect(files).toHaveLength(3);
    for (const volume of files)
      await expect(readFile(join(ROOT, volume.split(':')[0] ?? ''))).resolves.toBeTruthy();
  });
});
