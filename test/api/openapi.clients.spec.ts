import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { createClient } from '@hey-api/openapi-ts';
import openapiTypes, { astToString, type OpenAPI3 } from 'openapi-typescript';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Connect, FetchClient, Sdk } from '../clients/generated-client.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer, aSkill } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { aService } from '../support/service.js';

const CLIENTS = resolve(import.meta.dirname, '../clients');
const GENERATED = join(CLIENTS, 'generated');
const TSC = resolve(import.meta.dirname, '../../node_modules/typescript-7/bin/tsc');

const HOLDER = { ...SUPER_ADMIN, org: 'acme', team: 'platform' };

describe('a strict TypeScript client generated from the OpenAPI document', () => {
  const folder = aFolder();
  const service = aService({ mode: 'full' })
    .source('files', {
      servers: [aServer('io.acme/forecast', '1.0.0'), aServer('io.acme/forecast', '1.1.0')],
      skills: [aSkill('io.acme/code-review')],
      claims: { org: 'acme' },
    })
    .source('published', { kind: 'managed', claims: { org: 'acme' } })
    .registry('main', { sources: ['files', 'published'] })
    .configuration({ adminFileRoot: folder.path })
    .runs();

  // Generates the code next to the client sources, so that both are compiled and run together.
  beforeAll(async () => {
    const document = (await service.get('/openapi.json')).json as OpenAPI3;
    rmSync(GENERATED, { recursive: true, force: true });
    mkdirSync(GENERATED, { recursive: true });
    writeFileSync(join(GENERATED, 'openapi.d.ts'), astToString(await openapiTypes(document)));
    await createClient({
      input: document as never,
      output: { path: join(GENERATED, 'sdk'), module: { extension: '.js' } },
      logs: { level: 'silent', file: false },
    });
  });

  const connect = async <C>(file: string, claims: Record<string, unknown>): Promise<C> => {
    const { href } = pathToFileURL(join(CLIENTS, file));
    const client = (await import(href)) as { connect: Connect<C> };
    return client.connect(service.origin, service.issuer.sign(claims));
  };

  it('compiles, and rejects invalid calls', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [TSC, '-p', CLIENTS]).catch(
      (failed: { stdout: string }) => failed,
    );
    expect(stdout).toBe('');
  });

  it('lists page by page', async () => {
    const client = await connect<FetchClient>('with-openapi-fetch.ts', HOLDER);
    expect((await client.list('main')).filter((version) => version.includes('/forecast'))).toEqual([
      'io.acme/forecast@1.1.0 active',
      'io.acme/forecast@1.0.0 active',
    ]);
  });

  it('publishes a version once and reads it back', async () => {
    const client = await connect<FetchClient>('with-openapi-fetch.ts', HOLDER);
    expect(await client.publish('io.acme/weather', 'platform')).toBe('published');
    expect(await client.read('main', 'io.acme/weather')).toEqual({
      remote: 'https://weather.example.com/mcp',
      again: 304,
    });
  });

  it('branches on the error code of a refusal', async () => {
    const client = await connect<FetchClient>('with-openapi-fetch.ts', { ...HOLDER, role: 'writer' });
    expect(await client.publish('io.acme/refused', 'data')).toBe('claims_not_subset');
    expect(await client.publish('io.acme/refused', 'platform')).toBe('published');
    expect(await client.publish('io.acme/refused', 'platform')).toBe('version_exists');
    expect(await client.relabel('published', 'platform')).toBe('role_required');
  });

  it('can PUT what it has read with GET', async () => {
    const client = await connect<FetchClient>('with-openapi-fetch.ts', HOLDER);
    expect(await client.relabel('published', 'platform')).toBe('config_managed');
    expect(await client.relabel('own', 'platform')).toBe('source_not_found');
    const own = { file: { path: 'none.json' }, syncPolicy: { interval: '1h' }, claims: { org: 'acme' } };
    expect((await service.as(HOLDER).put('/v1/sources/own', own)).status).toBe(201);
    expect(await client.relabel('own', 'platform')).toBe('put');
  });

  it('has a working function for each operation', async () => {
    const sdk = await connect<Sdk>('with-hey-api.ts', HOLDER);
    expect(await sdk.ask('main')).toEqual([
      '1.1.0',
      'code-review active',
      'files file',
      'published managed',
      'not_synced',
    ]);
  });
});
