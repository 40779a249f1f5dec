import { readdirSync } from 'node:fs';
import { RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { describe, expect, it } from 'vitest';
import { RouteAccessOf } from '../../dist/auth/route-access.js';
import { TakesBody } from '../../dist/http/input/body.js';
import { aServer } from '../support/documents.js';
import { call } from '../support/http.js';
import { expectRefused } from '../support/matchers.js';
import { aService } from '../support/service.js';

interface OpenApi {
  openapi: string;
  info: { version: string; description: string };
  paths: Record<
    string,
    Record<
      string,
      {
        summary?: string;
        operationId: string;
        responses: Record<string, { content?: Record<string, { schema?: object }> }>;
      }
    >
  >;
  components: { schemas: Record<string, { properties?: object }> };
}

type Controller = (new (...values: never[]) => object) & { prototype: Record<string, object> };

const DIST = new URL('../../dist/', import.meta.url);

/** Every controller there is: a class that was built and is forgotten here would be a route nobody looked at. */
async function allControllers(): Promise<Controller[]> {
  const files = readdirSync(DIST, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.controller.js'),
  );
  const modules = await Promise.all(
    files.map((file) => import(new URL(file, DIST).href) as Promise<Record<string, unknown>>),
  );
  return modules.flatMap((exported) =>
    Object.values(exported)
      .flat()
      .filter(
        (value): value is Controller => typeof value === 'function' && value.name.endsWith('Controller'),
      ),
  );
}

const CONTROLLERS = await allControllers();
const isUndocumented = (controller: Controller) =>
  Reflect.getMetadata('swagger/apiExcludeController', controller) !== undefined;

/** `GET /path/{parameter}` of every handler, from the decorators. */
function routesOf(controller: Controller): { route: string; access: unknown }[] {
  const bases = [Reflect.getMetadata(PATH_METADATA, controller) as string | string[]].flat();
  const { prototype } = controller;
  return Object.getOwnPropertyNames(prototype).flatMap((name) => {
    const handler = prototype[name] as object;
    const path = Reflect.getMetadata(PATH_METADATA, handler) as string | undefined;
    if (name === 'constructor' || path === undefined) return [];
    const method = RequestMethod[Reflect.getMetadata(METHOD_METADATA, handler) as number];
    const key = RouteAccessOf.KEY;
    const access: unknown = Reflect.getMetadata(key, handler) ?? Reflect.getMetadata(key, controller);
    return bases.map((base) => ({
      route: `${method} ${`/${base}/${path}`.replaceAll(/\/+/g, '/').replace(/(.)\/$/, '$1')}`.replaceAll(
        /[:*](\w+)/g,
        '{$1}',
      ),
      access,
    }));
  });
}

/** Has the handler a parameter with the body, parsed by Nest (`@Body()`) or as it was sent (`@SentJson()`)? */
function looksAtBody(controller: object, method: string): boolean {
  const parameters = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, method) ?? {}) as Record<
    string,
    { factory?: unknown }
  >;
  return Object.entries(parameters).some(
    ([key, { factory }]) =>
      key.startsWith(`${RouteParamtypes.BODY}:`) ||
      (factory !== undefined && String(factory).includes('rawBody')),
  );
}

describe('every route', () => {
  const service = aService()
    .source('main', { servers: [aServer('io.acme/a')] })
    .registry('main', { sources: ['main'] })
    .runs();
  const document = async () => (await service.get('/openapi.json')).json as OpenApi;
  const routes = CONTROLLERS.flatMap(routesOf);

  it('that looks at a body says so, or it would be neither read nor bounded', () => {
    const takers = CONTROLLERS.flatMap(({ name, prototype }) =>
      Object.getOwnPropertyNames(prototype)
        .filter((method) => method !== 'constructor')
        .map((method) => ({
          handler: `${name}.${method}`,
          looks: looksAtBody(prototype.constructor, method),
          takes: Reflect.hasMetadata(TakesBody.KEY, prototype[method] as object),
        })),
    );
    expect(takers.filter(({ looks, takes }) => looks !== takes)).toEqual([]);
    expect(takers.filter(({ takes }) => takes).length).toBeGreaterThan(5);
  });

  it('declares who may use it', () => {
    expect(routes.length).toBeGreaterThan(10);
    for (const { route, access } of routes)
      expect({ route, access: typeof access }).not.toEqual({ route, access: 'undefined' });
  });

  it('stands in the OpenAPI document, and nothing else does', async () => {
    const { paths } = await document();
    const documented = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const hidden = new Set(
      CONTROLLERS.filter(isUndocumented)
        .flatMap(routesOf)
        .map(({ route }) => route),
    );
    expect(documented.sort()).toEqual(
      routes
        .map(({ route }) => route)
        .filter((route) => !hidden.has(route))
        .sort(),
    );
    // They answer every path alike, to say where to go instead.
    expect([...hidden].every((route) => /^(PUT|PATCH|DELETE|POST) \/registry\//.test(route))).toBe(true);
  });

  it('is described with a summary, the shape of its answer and its errors', async () => {
    const { paths } = await document();
    for (const [path, methods] of Object.entries(paths))
      for (const operation of Object.values(methods)) {
        expect(operation.summary, path).toBeTruthy();
        const good = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'));
        expect(good.length, path).toBeGreaterThan(0);
        for (const [status, { content }] of good)
          expect(status === '204' || content?.['application/json']?.schema, `${path} ${status}`).toBeTruthy();
        if (!path.startsWith('/.well-known/'))
          expect(Object.keys(operation.responses), path).toEqual(expect.arrayContaining(['401', '503']));
      }
  });

  it('has an id of its own', async () => {
    const { paths } = await document();
    const ids = Object.values(paths).flatMap((methods) =>
      Object.values(methods).map((operation) => operation.operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('has shapes with properties', async () => {
    const { components, openapi } = await document();
    expect(openapi).toBe('3.1.0');
    for (const [name, schema] of Object.entries(components.schemas))
      // The one that is empty by its nature.
      if (name !== 'ManagedSettings')
        expect(Object.keys(schema.properties ?? {}).length, name).toBeGreaterThan(0);
  });

  it('of the consumer API is in a public openapi.yaml, the same for every name', async () => {
    const yaml = await service.get('/registry/main/v0.1/openapi.yaml');
    expect(yaml.status).toBe(200);
    expect(yaml.text).toMatch(/version: 1\.0\.0/);
    expect(yaml.text).toContain('https://github.com/modelcontextprotocol/registry');
    expect(yaml.text).not.toContain('/v1/sources');
    expect((await service.get('/registry/nobody/v0/openapi.yaml')).text).toBe(yaml.text);
  });

  it('can be tried at /docs with nothing from elsewhere', async () => {
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

/** What is no GET and yet writes nothing; any other route that is new has to be refused here. */
const WRITES_NOTHING = ['POST /v1/entries/validate'];

describe('on a read-only server every route', () => {
  const service = aService()
    .source('main', { kind: 'managed' })
    .registry('main', { sources: ['main'] })
    .configuration({ readOnly: true })
    .runs();
  const ROUTES = CONTROLLERS.flatMap(routesOf).map(({ route }) => route);
  const CHANGES = ROUTES.filter((route) => !/^(GET|HEAD) /.test(route) && !WRITES_NOTHING.includes(route));
  const send = (route: string, query = '') => {
    const [method = '', path = ''] = route.split(' ');
    const body = { server: aServer('io.acme/a'), claims: {} };
    return service.send(
      method,
      path.replaceAll(/\{\w+\}/g, 'main') + query,
      method === 'DELETE' ? {} : { body },
    );
  };

  it('that changes something is refused, whatever it names', async () => {
    expect(CHANGES.length).toBeGreaterThan(10);
    for (const route of CHANGES) expectRefused(await send(route), 403, 'read_only');
  });

  it('that says it writes nothing is answered', async () => {
    for (const route of WRITES_NOTHING) expect((await send(route)).status, route).toBe(200);
    expect((await send('POST /v1/entries', '?dry_run=true')).status).toBe(200);
  });

  it('that reads is answered', async () => {
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
  ])('answers %s, which the public port does not know', async (path, body) => {
    const reply = await call(service.internalOrigin + path);
    expect({ status: reply.status, body: reply.json as unknown }).toEqual({ status: 200, body });
    expect((await service.get(path)).status).toBe(404);
  });

  it('knows nothing else', async () => {
    for (const path of ['/', '/registry', '/health/'])
      expect((await call(service.internalOrigin + path)).status).toBe(404);
    expect((await call(`${service.internalOrigin}/health`, { method: 'POST' })).status).toBe(404);
  });
});
