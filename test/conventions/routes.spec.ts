import { getMetadataStorage } from 'class-validator';
import { describe, expect, it } from 'vitest';
import {
  type AuditDeclaration,
  AuditedAs,
  type Loads,
  LoadsOf,
  type RouteDeclaration,
  WritesNothingOf,
} from '../../dist/auth/route.js';
import { IsCatalogRead } from '../../dist/visibility/registry-views.js';
import { ATOM_TYPE } from '../../dist/catalog/feed-page.queries.js';
import { ENTRY_TYPES } from '../../dist/documents/entry-types.js';
import { HasBody, SentJson, StreamsBody } from '../../dist/http/body.js';
import { aServer } from '../support/documents.js';
import { call } from '../support/http.js';
import { expectRefused } from '../support/matchers.js';
import { type Described, type OpenApi, operationsOf } from '../support/openapi.js';
import { allHandlers, type Handler } from '../support/routes.js';
import { aService } from '../support/service.js';

const HANDLERS = await allHandlers();
const DOCUMENTED = HANDLERS.filter(({ operation }) => operation !== undefined);
const ROUTES = HANDLERS.flatMap(({ routes }) => routes);

/** The same handlers at another path. */
const METADATA_ALIAS = '/.well-known/oauth-protected-resource/{path}';
const ALIASES = [`GET ${METADATA_ALIAS}`];
const isAlias = (route: string) =>
  / \/registry\/\{registry\}\/(v0|x(?!\/(feed|content|marketplace)))\//.test(route) ||
  ALIASES.includes(route);
/** Handlers that refuse every path alike with directions. */
const isRefusal = (route: string) =>
  /^(PUT|PATCH|DELETE) \/\.well-known\/|^(PUT|PATCH|DELETE|POST) \/registry\/\{path\}$|^(GET|PUT|PATCH|DELETE) \/registry\/\{registry\}\/mcp$|\/auth\/\{method\}$|\/v0(\.1)?\/health$/.test(
    route,
  );

/** Routes that write nothing although their method is not GET; a read-only server must refuse all others. */
const WRITES_NOTHING = [
  'POST /v1/entries/validate',
  'POST /v1/access/explain',
  'POST /v1/access/preview',
  'POST /v1/blocks/preview',
  'POST /v1/sources/{name}/test',
  'POST /v1/sources/{name}/access',
  'POST /v1/registries/{name}/access',
  'POST /registry/{registry}/mcp',
  'POST /registry/{registry}/git/marketplace.git/git-upload-pack',
  ...['PUT', 'PATCH', 'DELETE'].flatMap((method) =>
    ['/registry/{registry}/mcp', METADATA_ALIAS].map((path) => `${method} ${path}`),
  ),
  ...['v0.1', 'v0'].flatMap((version) =>
    ['validate', 'auth/github-oidc', 'auth/none'].map(
      (asked) => `POST /registry/{registry}/${version}/${asked}`,
    ),
  ),
];
/** Status for a body meant for another route. */
const ANSWERS: readonly [RegExp, number][] = [
  [/git-upload-pack$/, 415],
  // The resource is from the configuration.
  [/(sources|registries)\/.*\/(test|access)$/, 403],
  [/oidc$|^POST .*(mcp|blocks\/preview)$/, 400],
  [/^(PUT|PATCH|DELETE) .*mcp$/, 405],
  // The server is in anonymous mode.
  [/oauth-protected-resource/, 404],
];
const changesSomething = (route: string) => !/^(GET|HEAD) /.test(route) && !WRITES_NOTHING.includes(route);

/** Files of the web UI: not part of the API. */
const isPage = (route: string) =>
  [
    'GET /',
    'GET /assets/{file}',
    'GET /logo',
    'GET /registry/{registry}',
    'GET /registry/{registry}/v0.1/x/icon/{type}/{name}',
  ].includes(route);

/** Git's own protocol: not part of the API. */
const isGit = (route: string) => route.includes('/git/marketplace.git/');

/** Media types of responses that are not JSON. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  getFeed: ATOM_TYPE,
  getContentZip: 'application/zip',
  getPluginArchive: 'application/zip',
};

/** Whether a route may refuse: by role, by the gate, or because the target is hidden. */
const mayRefuse = ({ access, says }: Handler) =>
  !['public', 'caller'].includes(String(access)) ||
  ![undefined, 'publisher'].includes(says(LoadsOf) as string);

const PAGE_SIZES: Readonly<Record<string, number>> = {
  listSearchResults: 30,
  ...Object.fromEntries(
    Object.values(ENTRY_TYPES).map(({ listKey, perPage }) => [
      `list${listKey[0]?.toUpperCase()}${listKey.slice(1)}`,
      perPage,
    ]),
  ),
};

/** How an operation's name begins, by method; the name of a POST has its action. */
const VERBS: Readonly<Record<string, RegExp>> = {
  GET: /^(get|list)[A-Z]/,
  PUT: /^put[A-Z]/,
  PATCH: /^set[A-Z]/,
  DELETE: /^delete[A-Z]/,
  POST: /^(?!get|list|put|set|delete)[a-z]+[A-Z]/,
};

describe('every route', () => {
  it('that uses a body declares it, or it would be neither read nor bounded', () => {
    const takers = HANDLERS.map((handler) => ({
      name: handler.name,
      // Parsed by Nest (`@Body()`), or unvalidated (`@UnvalidatedBody()`).
      looks: handler.parameters.some(({ isBody, reads }) => isBody || reads.includes('rawBody')),
      takes: handler.says(HasBody) !== undefined,
    }));
    expect(takers.filter(({ looks, takes }) => looks !== takes)).toEqual([]);
    expect(takers.filter(({ takes }) => takes).length).toBeGreaterThan(5);
  });

  it('that takes a body declares it with a DTO class that validates it', () => {
    const bodies = HANDLERS.flatMap(({ name, parameters }) =>
      parameters
        .filter(({ isBody, reads }) => isBody || reads.includes('rawBody'))
        .map(({ type }) => ({ name, type })),
    );
    const unvalidated = bodies.filter(
      ({ type }) =>
        type !== SentJson &&
        type !== Buffer &&
        getMetadataStorage().getTargetValidationMetadatas(type as Function, '', false, false).length === 0,
    );
    expect(unvalidated).toEqual([]);
    expect(bodies.filter(({ type }) => type === SentJson).map(({ name }) => name)).toEqual([
      'McpController.post',
      'PublisherController.publish',
      'PublisherController.validate',
    ]);
    expect(bodies.filter(({ type }) => type === Buffer).map(({ name }) => name)).toEqual([
      'RepositoryController.command',
    ]);
    expect(bodies.length).toBeGreaterThan(10);
  });

  it('that changes something, or may refuse, declares its audit record', () => {
    const changing = HANDLERS.filter(({ routes }) =>
      routes.some((route) => changesSomething(route) && !isRefusal(route)),
    );
    expect(changing.length).toBeGreaterThan(8);
    const undeclared = [...changing, ...HANDLERS.filter(mayRefuse)].filter(
      (handler) => handler.says(AuditedAs) === undefined,
    );
    expect(undeclared.map(({ name }) => name)).toEqual([]);
    // A change has its own action, never a read action.
    const reads = /^(catalog|audit)\.read$|\.(read|list|validate)$/;
    for (const handler of HANDLERS.filter((one) => one.says(AuditedAs) !== undefined)) {
      const { action } = handler.says(AuditedAs) as AuditDeclaration;
      expect({ handler: handler.name, isRead: reads.test(action) }).toEqual({
        handler: handler.name,
        isRead: !changing.includes(handler),
      });
    }
  });

  it('gets a verified access to its registry, except for the reads of the catalog', () => {
    const reads = HANDLERS.filter((handler) => handler.says(IsCatalogRead) !== undefined);
    const readsOf = (noun: string) =>
      ['latest', 'list', 'version', 'versions'].map((read) => `${noun}Controller.${read}`);
    expect(reads.map(({ name }) => name).sort()).toEqual([
      'EntrySearchController.search',
      ...readsOf('Plugins'),
      ...readsOf('Servers').slice(1),
      ...readsOf('Skills'),
    ]);
    for (const handler of HANDLERS) {
      const takesAny = handler.parameters.some(({ reads }) => reads.includes('catalogAccess'));
      expect({ handler: handler.name, takesAny }).toEqual({
        handler: handler.name,
        takesAny: reads.includes(handler),
      });
    }
  });

  it('declares who may use it', () => {
    expect(HANDLERS.length).toBeGreaterThan(10);
    expect(HANDLERS.filter(({ access }) => access === undefined).map(({ name }) => name)).toEqual([]);
  });

  // oxlint fails if an expected error does not occur.
  it('compiles only with its access, its audit record and its errors', () => {
    const documentation = { operationId: 'getPing', summary: 'Ping', answer: null } as const;
    const declarations: RouteDeclaration[] = [
      { access: 'caller', audit: null, ...documentation, errors: [] },
      // @ts-expect-error Anyone could use it.
      { audit: null, openApi: false },
      // @ts-expect-error Its refusals would go unrecorded.
      { access: 'caller', openApi: false },
      // @ts-expect-error The OpenAPI document would lack its errors.
      { access: 'caller', audit: null, ...documentation },
    ];
    expect(declarations).toHaveLength(4);
  });
});

describe('in the OpenAPI document every route', () => {
  const service = aService({ mode: 'full' }).runs();
  const operations = async () => operationsOf((await service.get('/openapi.json')).json as OpenApi);

  /** Each handler with its operation in the document. */
  const described = async (): Promise<{ handler: Handler; operation: Described }[]> => {
    const all = await operations();
    return DOCUMENTED.map((handler) => {
      const operation = all.find(({ operationId }) => operationId === handler.operation?.operationId);
      if (!operation) throw new Error(`${handler.name} has no unique operationId in the document`);
      return { handler, operation };
    });
  };

  it('appears exactly once, without other entries', async () => {
    const documented = (await operations()).map(({ method, path }) => `${method} ${path}`);
    const [left, expected] = [true, false].map((isLeftOut) =>
      ROUTES.filter(
        (route) => (isAlias(route) || isRefusal(route) || isGit(route) || isPage(route)) === isLeftOut,
      ),
    );
    expect(documented.sort()).toEqual(expected?.sort());
    // An omitted path is described by its other path.
    const elsewhere = (left ?? [])
      .filter((route) => isAlias(route) && !isRefusal(route))
      .map((route) => route.replace(/\/(v0\/|(?=x\/))/, '/v0.1/').replace(/\/\{path\}$/, ''));
    expect(elsewhere.filter((route) => !documented.includes(route))).toEqual([]);
  });

  it('has a unique, explicit operationId: a verb and a noun', async () => {
    const names = DOCUMENTED.map(({ operation }) => operation?.operationId ?? '');
    expect(new Set(names).size).toBe(names.length);
    for (const { handler, operation } of await described()) {
      expect(operation.operationId, handler.name).toMatch(/^[a-z]+([A-Z][a-z]+)+$/);
      expect(operation.operationId, handler.name).toMatch(VERBS[operation.method] ?? /^$/);
    }
  });

  it('has a summary and a response schema', async () => {
    for (const { handler, operation } of await described()) {
      expect(operation.summary, handler.name).toBeTruthy();
      const good = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'));
      expect(good.length, handler.name).toBeGreaterThan(0);
      for (const [status, { content }] of good)
        expect(
          ['204', operation.operationId === 'callMcp' && '202'].includes(status) ||
            (content as Record<string, { schema?: unknown }> | undefined)?.[
              MEDIA_TYPES[operation.operationId] ?? 'application/json'
            ]?.schema,
          handler.name,
        ).toBeTruthy();
    }
  });

  it('lists its parameters, each with a type, and path parameters with an example', async () => {
    for (const { handler, operation } of await described()) {
      const { parameters = [], path } = operation;
      const inPath = parameters.filter((parameter) => parameter.in === 'path');
      expect(inPath.map(({ name }) => `{${name}}`).sort(), handler.name).toEqual(
        [...path.matchAll(/\{\w+\}/g)].map(([name]) => name).sort(),
      );
      for (const { name, schema } of parameters) expect(schema.type, `${handler.name} ${name}`).toBeTruthy();
      for (const { name, schema } of inPath) expect(schema.example, `${handler.name} ${name}`).toBeTruthy();
    }
  });

  it('with a limit gives its range, and its default or that there is none', async () => {
    const limits = (await operations()).flatMap(({ operationId, parameters = [] }) =>
      parameters.filter(({ name }) => name === 'limit').map((limit) => ({ operationId, ...limit })),
    );
    for (const { operationId, schema, description } of limits) {
      const maximum = operationId === 'listAuditEvents' ? 1_000 : 100;
      expect(schema, operationId).toMatchObject({ type: 'integer', minimum: 1, maximum });
      const byDefault = ['listAuditEvents', 'listAdmissionItems'].includes(operationId)
        ? 100
        : PAGE_SIZES[operationId];
      expect(schema.default, operationId).toBe(byDefault);
      if (byDefault === undefined) expect(description, operationId).toContain('all items by default');
    }
    expect(limits.length).toBeGreaterThan(5);
  });

  it('lists the errors that its declarations lead to', async () => {
    for (const { handler, operation } of await described()) {
      const { access } = handler;
      const loads = handler.says(LoadsOf) as Loads | undefined;
      const named = typeof loads === 'object' ? loads : undefined;
      const takesQuery = operation.parameters?.some((parameter) => parameter.in === 'query');
      // Lists for administrators match only names.
      const searches = loads === 'view' && operation.parameters?.some(({ name }) => name === 'search');
      const route = `${operation.method} ${operation.path}`;
      const expected = [
        '500 internal_error',
        '503 overloaded',
        ...(loads === 'publisher' ? ['501 use_admin_api'] : []),
        ...(loads === 'publisher' && access !== 'public'
          ? ['403 role_required', '403 registry_forbidden']
          : []),
        ...(access === 'public'
          ? []
          : [
              '401 token_missing',
              '401 token_invalid',
              '429 too_many_requests',
              '503 provider_unavailable',
              ...(operation.operationId === 'getMe'
                ? []
                : ['503 database_unavailable', '503 database_timeout']),
            ]),
        ...(access === 'public' || access === 'caller' ? [] : ['403 role_required']),
        ...(changesSomething(route) ? ['403 read_only', '503 storage_full'] : []),
        ...(loads === 'view' ? ['403 registry_forbidden', '404 registry_not_found'] : []),
        ...(named ? [`404 ${named.resource}_not_found`] : []),
        ...(named && named.resource !== 'entry' && named.use !== 'read' ? ['403 config_managed'] : []),
        ...(operation.path.includes('{') ? ['400 malformed_path'] : []),
        ...(takesQuery ? ['400 invalid_parameter'] : []),
        ...(searches ? ['503 search_too_broad'] : []),
        ...(handler.says(HasBody)
          ? ['400 malformed_json', '400 invalid_body', '413 body_too_large', '415 unsupported_media_type']
          : []),
      ];
      expect(errorsOf(operation), handler.name).toEqual(expect.arrayContaining(expected));
    }
  });

  it('accepts exactly the conditional headers that it evaluates', async () => {
    for (const { handler, operation } of await described()) {
      const looks = handler.parameters.some(({ reads }) => reads.includes('if-match'));
      const headers = (operation.parameters ?? []).filter((parameter) => parameter.in === 'header');
      const names = headers.map(({ name }) => name);
      expect({ name: handler.name, ifMatch: names.includes('If-Match') }).toEqual({
        name: handler.name,
        ifMatch: looks,
      });
      expect(errorsOf(operation).includes('412 precondition_failed'), handler.name).toBe(looks);
      const isRead = operation.method === 'GET' && '304' in operation.responses;
      const mayCreate = operation.method === 'PUT' && '201' in operation.responses;
      expect(names.includes('If-None-Match'), handler.name).toBe(isRead || mayCreate);
    }
  });

  it('has a body only if it takes one', async () => {
    for (const { handler, operation } of await described())
      expect(operation.requestBody !== undefined, handler.name).toBe(
        (handler.says(HasBody) ?? handler.says(StreamsBody)) !== undefined,
      );
  });
});

/** `403 read_only`, … */
function errorsOf({ responses }: Described): string[] {
  return Object.entries(responses).flatMap(([status, { content }]) =>
    Object.keys(content?.['application/json']?.examples ?? {}).map((code) => `${status} ${code}`),
  );
}

describe('on a read-only server every route', () => {
  const service = aService()
    .source('main', { kind: 'managed' })
    .registry('main', { sources: ['main'], publishClaims: {} })
    .configuration({ readOnly: true })
    .runs();
  const CHANGES = ROUTES.filter(changesSomething);
  const send = (route: string, query = '') => {
    const [method = '', path = ''] = route.split(' ');
    const body = path.startsWith('/v1/access')
      ? { registry: 'main', ...(path.endsWith('preview') ? { as: { claims: {} } } : {}) }
      : { server: aServer('io.acme/a'), claims: {} };
    return service.send(
      method,
      path.replaceAll(/\{\w+\}/g, 'main') + query,
      method === 'DELETE' ? {} : { body },
    );
  };

  it('that changes something is refused, even for unknown resources', async () => {
    expect(CHANGES.length).toBeGreaterThan(10);
    for (const route of CHANGES) expectRefused(await send(route), 403, 'read_only');
  });

  it('that declares it writes nothing is allowed', async () => {
    const always = HANDLERS.filter((handler) => handler.says(WritesNothingOf)).flatMap(
      ({ routes }) => routes,
    );
    expect(always).toEqual(expect.arrayContaining(WRITES_NOTHING));
    for (const route of WRITES_NOTHING)
      expect((await send(route)).status, route).toBe(
        ANSWERS.find(([pattern]) => pattern.test(route))?.[1] ?? 200,
      );
    expect((await send('POST /v1/entries', '?dry_run=true')).status).toBe(200);
  });

  it('that reads is allowed', async () => {
    for (const route of ROUTES.filter((route) => route.startsWith('GET ')))
      expect((await send(route)).status, route).not.toBe(403);
  });
});

describe('the internal server', () => {
  const service = aService()
    .source('main', { servers: [aServer('io.acme/a')] })
    .registry('main', { sources: ['main'] })
    .runs();

  it.each([
    ['/health', { status: 'healthy' }],
    ['/readiness', { status: 'ready' }],
    [
      '/version',
      {
        version: expect.any(String),
        commit: 'test',
        build_date: 'test',
        node_version: process.version,
        platform: 'test',
      },
    ],
  ])('serves %s, which the public port does not', async (path, body) => {
    const reply = await call(service.internalOrigin + path);
    expect({ status: reply.status, body: reply.json as unknown }).toEqual({ status: 200, body });
    expect((await service.get(path)).status).toBe(404);
  });

  it('serves nothing else', async () => {
    for (const path of ['/', '/registry', '/health/'])
      expect((await call(service.internalOrigin + path)).status).toBe(404);
    expect((await call(`${service.internalOrigin}/health`, { method: 'POST' })).status).toBe(404);
  });
});
