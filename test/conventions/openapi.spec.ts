import { readFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ENTRY_TYPE_NAMES } from '../../dist/documents/entry-types.js';
import { ERRORS } from '../../dist/http/errors.js';
import { SOURCE_KINDS } from '../../dist/source-kinds/kinds.js';
import { SourceSettings } from '../../dist/source-kinds/source-settings.dto.js';
import { checkShape } from '../../dist/validation/class-validation.js';
import { aServer, aSkill } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { call } from '../support/http.js';
import {
  examplePath,
  type OpenApi,
  type Operation,
  operationsOf,
  type Schema,
  SchemaCheck,
} from '../support/openapi.js';
import { expectRefused } from '../support/matchers.js';
import { modernRequest } from '../support/mcp.js';
import { aWebhookSecret } from '../support/receiver.js';
import { aService } from '../support/service.js';

const SUPER_ADMIN = { org: 'acme', team: ['platform', 'data'], role: 'super-admin' };

const folder = aFolder();
// Creates everything that the examples in the document's paths refer to.
const service = aService({ mode: 'full' })
  .source('catalog', {
    servers: [aServer('io.github.example/weather')],
    skills: [aSkill('io.github.example/code-review')],
    plugins: [aSkill('io.github.example/code-review')],
    claims: { org: 'acme' },
  })
  .registry('default', {
    sources: ['catalog'],
    claims: { org: 'acme' },
    marketplace: { name: 'acme', owner: 'Acme' },
  })
  .configuration({
    adminFileRoot: folder.path,
    webhooks: [
      { name: 'siem', url: 'http://127.0.0.1:9/in', secretFile: folder.write('secret', aWebhookSecret()) },
    ],
  })
  .runs();
const admin = () => service.as(SUPER_ADMIN);

let document: OpenApi;
let check: SchemaCheck;
beforeAll(async () => {
  document = (await service.get('/openapi.json')).json;
  check = new SchemaCheck(document);
});

const operation = (id: string) => {
  const found = operationsOf(document).find(({ operationId }) => operationId === id);
  if (!found) throw new Error(`There is no ${id}`);
  return found;
};
const bodiesOf = (id: string) =>
  Object.entries(operation(id).requestBody?.content['application/json']?.examples ?? {});

describe('the OpenAPI document', () => {
  it.each(['/openapi.json', '/registry/default/openapi.yaml'])('is valid OpenAPI 3.1: %s', async (path) => {
    const { text: source } = await service.get(path);
    expect(parse(source)).toMatchObject({ openapi: '3.1.0' });
    // The document contains the server it was read from.
    const config = await createConfig({
      extends: ['recommended-strict'],
      rules: { 'no-empty-servers': 'off' },
    });
    const problems = await lintFromString({ source, absoluteRef: path, config });
    expect(problems.map(({ message, location: [at] }) => `${message} ${at?.pointer}`)).toEqual([]);
  });

  it("has the program's version, and for the consumer API the version of the MCP Registry API", async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(document.info.version).toBe(version);
    expect((await call(`${service.internalOrigin}/version`)).json).toMatchObject({ version });
    const consumer = parse((await service.get('/registry/default/v0.1/openapi.yaml')).text) as OpenApi;
    expect(consumer.info.version).toBe('1.0.0');
    expect(consumer.info.description).toContain('https://github.com/modelcontextprotocol/registry');
  });

  it('of the consumer API is public, identical for every registry, and omits the admin API', async () => {
    const { status, text } = await service.get('/registry/default/v0.1/openapi.yaml');
    expect(status).toBe(200);
    expect((await service.get('/registry/nobody/v0/openapi.yaml')).text).toBe(text);
    const { paths, components } = parse(text) as OpenApi;
    expect(Object.keys(paths).filter((path) => !path.startsWith('/registry'))).toEqual([]);
    expect(Object.keys(components.schemas)).toContain('ServerList');
    expect(Object.keys(components.schemas)).not.toContain('SourceSettings');
  });

  it('states once that 405 is possible, and lists it for no operation', () => {
    expect(document.info.description).toContain('No operation described here returns 405');
    for (const { operationId, responses } of operationsOf(document))
      expect(Object.keys(responses), operationId).not.toContain('405');
  });

  it('has a schema with properties for each object', () => {
    for (const [name, { properties, enum: words, oneOf }] of Object.entries(document.components.schemas))
      expect(Object.keys(properties ?? words ?? oneOf ?? {}).length, name).toBeGreaterThan(0);
  });

  it('can be tried at /docs without external assets', async () => {
    const page = await service.get('/docs');
    expect(page.status).toBe(200);
    expect(page.text).not.toMatch(/(src|href)="https?:/);
    const assets = [...page.text.matchAll(/(?:src|href)="(\.?\/[^"]+)"/g)].map(
      (match) => new URL(match[1] ?? '', `${service.origin}/docs`),
    );
    expect(assets.length).toBeGreaterThan(3);
    for (const asset of assets) expect((await call(asset.href)).status, asset.pathname).toBe(200);
  });
});

/** Properties that client generators need, beyond a valid document. */
describe('the OpenAPI document, for client generators,', () => {
  const bodyOf = ({ requestBody }: Operation) => requestBody?.content['application/json']?.schema;
  const named = ({ $ref = '' }: Schema) => document.components.schemas[$ref.replace(/.*\//, '')];

  it('has exactly one declared tag per operation', () => {
    const tags = document.tags.map(({ name }) => name);
    for (const { operationId, tags: of = [] } of operationsOf(document)) {
      expect({ operationId, count: of.length }).toEqual({ operationId, count: 1 });
      expect(tags, operationId).toContain(of[0]);
    }
  });

  it('lists path parameters first and in the order of the path', () => {
    for (const { operationId, path, parameters = [] } of operationsOf(document)) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const first = parameters.slice(0, inPath.length).map(({ name }) => name);
      expect({ operationId, first }).toEqual({ operationId, first: inPath });
    }
  });

  it('closes only the schemas of bodies whose unknown keys are refused', async () => {
    const names = operationsOf(document).flatMap((described) => schemasBelow(bodyOf(described)));
    expect(names).toEqual(expect.arrayContaining(['ClaimsBody', 'GitAuthSettings', 'RegistrySettings']));
    for (const name of new Set(names)) {
      const { properties, additionalProperties } = document.components.schemas[name] ?? {};
      const isOpen = /Document$|^McpMessage$/.test(name);
      if (properties)
        expect({ name, additionalProperties }).toEqual({
          name,
          additionalProperties: isOpen ? undefined : false,
        });
    }
    expectRefused(await admin().put('/v1/registries/odd', { sources: [], odd: 1 }), 400, 'invalid_body');
    expectRefused(await admin().put('/v1/sources/odd', { file: { path: 'a', odd: 1 } }), 400, 'invalid_body');
  });

  it('names each choice between a string and a list, and uses enums only for strings', () => {
    expect(document.components.schemas['ClaimValue']?.oneOf).toHaveLength(2);
    const text = JSON.stringify(document);
    // Generators for Go and Java fail on a choice that contains a list and has no name, or on an enum of booleans.
    expect(text.match(/\{"oneOf":\[[^\]]*"type":"array"/g)).toHaveLength(1);
    expect(text.match(/"enum":\[(?!")/g)).toBeNull();
  });

  it('offers exactly one kind of source and exactly one document', () => {
    const choices = (document.components.schemas['PublishBody']?.oneOf ?? []).map(named);
    for (const [position, type] of ENTRY_TYPE_NAMES.entries()) {
      const { required, properties } = choices[position] ?? {};
      expect(required).toEqual([type]);
      expect(Object.keys(properties ?? {}).sort()).toEqual(['claims', type].sort());
    }
    const source = bodyOf(operation('putSource'));
    expect(check.problems(source, { file: { path: 'a' }, syncPolicy: { interval: '1h' } })).toEqual([]);
    expect(check.problems(source, { file: { path: 'a' }, managed: {} })).not.toEqual([]);
    expect(check.problems(source, { claims: {} })).not.toEqual([]);
    const schema = bodyOf(operation('publishEntry'));
    const [server, skill] = [aServer('a.b/c'), aSkill('a.b/c')];
    expect(check.problems(schema, { server })).toEqual([]);
    expect(check.problems(schema, {})).not.toEqual([]);
    expect(check.problems(schema, { server, skill })).not.toEqual([]);
  });

  it('lists the statuses of servers where only servers are possible', () => {
    for (const id of ['setServerStatus', 'setServerVersionStatus']) {
      const body = bodyOf(operation(id));
      expect(check.problems(body, { status: 'deleted' })).toEqual([]);
      expect(check.problems(body, { status: 'archived' })).not.toEqual([]);
    }
    expect(check.problems(bodyOf(operation('setEntryStatus')), { status: 'archived' })).toEqual([]);
  });

  it('describes the 202 of the MCP route, which has no body', async () => {
    expect(operation('callMcp').responses['202']).toEqual({ description: expect.any(String) as string });
    const notification = { jsonrpc: '2.0', method: 'notifications/initialized' };
    const reply = await admin().post('/registry/default/mcp', notification, {
      Accept: 'application/json, text/event-stream',
    });
    expect({ status: reply.status, text: reply.text }).toEqual({ status: 202, text: '' });
  });

  it('also describes errors of the MCP route as JSON-RPC', async () => {
    const send = ({ body, headers }: ReturnType<typeof modernRequest>, registry = 'default') =>
      admin().post(`/registry/${registry}/mcp`, body, headers);
    const list = modernRequest('tools/list');
    for (const [reply, status, member] of [
      [await send(modernRequest('tools/list', {}, '2099-01-01')), 400, 'jsonrpc'],
      [await admin().post('/registry/default/mcp', [list.body], list.headers), 400, 'code'],
      [await send(modernRequest('prompts/list')), 404, 'jsonrpc'],
      [await send(list, 'nothing'), 404, 'code'],
    ] as const) {
      expect(reply).toMatchObject({ status, json: { [member]: expect.anything() as unknown } });
      const { schema } = operation('callMcp').responses[status]?.content?.['application/json'] ?? {};
      expect(check.problems(schema, reply.json)).toEqual([]);
    }
  });

  function schemasBelow(part: unknown, found = new Set<string>()): string[] {
    for (const [, name = ''] of (JSON.stringify(part) ?? '').matchAll(/schemas\/(\w+)"/g)) {
      if (found.has(name)) continue;
      found.add(name);
      schemasBelow(document.components.schemas[name], found);
    }
    return [...found];
  }
});

describe('an error in the OpenAPI document', () => {
  it('has an example for each code, under the right status', () => {
    for (const { operationId, responses } of operationsOf(document))
      for (const [status, { content }] of Object.entries(responses)) {
        if (Number(status) < 400) continue;
        const { schema, examples = {} } = content?.['application/json'] ?? {};
        expect(Object.keys(examples).length, `${operationId} ${status}`).toBeGreaterThan(0);
        for (const [name, { value }] of Object.entries(examples)) {
          const { code } = value as { code: keyof typeof ERRORS };
          expect({ code, status: ERRORS[code].status }).toEqual({
            code: name,
            status: Number(status),
          });
          expect(check.problems(schema, value), `${operationId} ${name}`).toEqual([]);
        }
      }
  });

  it('has an example sentence for details, and the headers of its status', async () => {
    const { properties } = document.components.schemas['ErrorAnswer'] ?? {};
    expect(properties?.['details']).toMatchObject({ type: 'array', items: { type: 'string' } });
    const headers = { 401: 'WWW-Authenticate', 429: 'Retry-After', 503: 'Retry-After' };
    for (const [status, header] of Object.entries(headers))
      expect(Object.keys(operation('listServers').responses[status]?.headers ?? {})).toEqual([header]);
  });

  it('matches actual responses', async () => {
    const schema = { $ref: '#/components/schemas/ErrorAnswer' };
    for (const [reply, status] of [
      [await service.get('/v1/sources'), 401],
      [await admin().get('/v1/sources/nothing'), 404],
      [await admin().put('/v1/sources/half', { file: {}, more: 1 }), 400],
    ] as const) {
      expect(reply.status).toBe(status);
      expect(check.problems(schema, reply.json)).toEqual([]);
    }
  });
});

describe('an example in the OpenAPI document', () => {
  beforeAll(async () => {
    const managed = bodiesOf('putSource').find(([name]) => name === 'managed')?.[1].value;
    expect((await admin().put('/v1/sources/managed', managed)).status).toBe(201);
    expect((await admin().put('/v1/blocks/sec-12', { names: ['com.evil/*'], reason: 'SEC-12' })).status).toBe(
      201,
    );
    const item = operation('getAdmissionItem').parameters?.find(({ name }) => name === 'id')?.schema.example;
    await service.database.query(
      `insert into admission_item (id, source_id, type, name, version, status, reasons, digest, first_seen_at, document)
       select $1, id, 'server', 'io.example/held', '1.0.0', 'held', '[{"policy":"minAge","message":"waits"}]', '\\x00', now(), '{}'
       from source limit 1`,
      [item],
    );
    await service.database.query(
      `with tree as (insert into content_tree (digest, bytes, members, member_tokens, plugin_servers, members_version)
           values (sha256(''), 0, '{"skills": [{"name": "example", "description": "An example"}]}', '{}',
             '{"servers": [], "untranslated": []}', 1)
           returning digest),
         blob as (insert into content_blob (digest, bytes) values (sha256(''), 0) returning digest),
         file as (insert into content_file (tree, path, blob, is_executable)
           select tree.digest, 'SKILL.md', blob.digest, false from tree, blob)
       insert into version_content (version_id, tree)
       select v.id, tree.digest from tree, entry_version v join entry e on e.id = v.entry_id
       where e.type = 'skill'`,
    );
    for (const [name, { value }] of bodiesOf('publishEntry'))
      expect({ name, status: (await admin().post('/v1/entries', value)).status }).toEqual({
        name,
        status: 201,
      });
  });

  it('exists for each kind of source and can be PUT unchanged', async () => {
    const examples = bodiesOf('putSource');
    expect(examples.map(([name]) => name).sort()).toEqual([...SOURCE_KINDS, 'url'].sort());
    const { schema } = operation('putSource').requestBody?.content['application/json'] ?? {};
    for (const [name, { value }] of examples) {
      expect(check.problems(schema, value), name).toEqual([]);
      // Storing them would read them all concurrently, some from remote hosts.
      expect(checkShape(SourceSettings, value).issues, name).toEqual([]);
    }
    const file = examples.find(([name]) => name === 'file')?.[1].value;
    expect((await admin().put('/v1/sources/file', file)).status).toBe(201);
    expect((await admin().put('/v1/sources/file', file)).status).toBe(200);
  });

  it('leads to an existing resource whose response matches its schema, and yields 304 for its ETag where described', async () => {
    const reads = operationsOf(document).filter(({ method }) => method === 'GET');
    expect(reads.length).toBeGreaterThan(15);
    for (const read of reads) {
      const { operationId, responses } = read;
      const reply = await admin().get(examplePath(read));
      expect({ operationId, status: reply.status }).toEqual({ operationId, status: 200 });
      const { content, headers = {} } = responses['200'] ?? {};
      // Feeds and zip files are not JSON.
      if (!['getFeed', 'getContentZip', 'getPluginArchive'].includes(operationId))
        expect(check.problems(content?.['application/json']?.schema, reply.json), operationId).toEqual([]);
      const has = reply.headers.etag !== undefined;
      const documented = { etag: '304' in responses, header: 'ETag' in headers };
      expect({ operationId, ...documented }).toEqual({ operationId, etag: has, header: has });
      if (!has) continue;
      let { etag } = reply.headers;
      // The state of a webhook changes with each delivery.
      await expect
        .poll(
          async () => {
            const again = await admin().get(examplePath(read), { 'If-None-Match': String(etag) });
            ({ etag } = again.headers);
            return again.status;
          },
          { message: operationId },
        )
        .toBe(304);
    }
    expect(reads.filter(({ responses }) => !('304' in responses)).map((read) => read.operationId)).toEqual(
      [],
    );
  });

  it('of a boolean parameter may only be true or false', async () => {
    const flags = operationsOf(document).flatMap((described) =>
      (described.parameters ?? [])
        .filter(({ in: place, schema }) => place === 'query' && schema.type === 'boolean')
        .map(({ name, schema }) => ({ described, name, schema })),
    );
    expect(flags.map(({ name }) => name)).toEqual(expect.arrayContaining(['include_deleted', 'dry_run']));
    for (const { described, name, schema } of flags) {
      for (const value of [true, false]) expect(check.problems(schema, value), name).toEqual([]);
      expect(check.problems(schema, 'true'), name).not.toEqual([]);
      if (described.method !== 'GET') continue;
      const ask = (value: string) => admin().get(`${examplePath(described)}?${name}=${value}`);
      expect([(await ask('true')).status, (await ask('false')).status]).toEqual([200, 200]);
      expect((await ask('yes')).status).toBe(400);
    }
  });
});
