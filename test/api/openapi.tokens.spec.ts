import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { aServer } from '../support/documents.js';
import { aService, type ServiceUnderTest } from '../support/service.js';

interface OpenApi {
  paths: Record<string, Record<string, { security?: Record<string, string[]>[] }>>;
  components: {
    securitySchemes?: Record<string, { type: string; openIdConnectUrl?: string }>;
    schemas: Record<string, { properties?: Record<string, object> }>;
  };
}

const documentOf = async (service: ServiceUnderTest) => (await service.get('/openapi.json')).json as OpenApi;
const connectSource = async (service: ServiceUnderTest) =>
  /connect-src ([^;]*)/.exec(String((await service.get('/docs')).headers['content-security-policy']))?.[1];

describe('the OpenAPI document in oauth mode', () => {
  const service = aService({
    mode: 'auth-only',
    // None of these addresses has a listener.
    providers: () => [
      { name: 'corporate', issuerUrl: 'https://idp.example/tenant/', audience: 'one' },
      { name: 'corporate, other audience', issuerUrl: 'https://idp.example/tenant/', audience: 'two' },
      { name: 'Größe & more', issuerUrl: 'https://other.example:8443', audience: 'one' },
      {
        name: 'bearer',
        issuerUrl: 'https://idp.example/third',
        audience: 'one',
        connectOrigins: ['https://login.example', 'https://idp.example'],
      },
    ],
  })
    .source('main', { servers: [aServer('io.acme/a')] })
    .registry('main', { sources: ['main'] })
    .runs();

  it.each([
    '/openapi.json',
    '/openapi.yaml',
    '/registry/main/openapi.yaml',
    '/registry/none/v0.1/openapi.yaml',
  ])('is built once, and If-None-Match yields 304: %s', async (path) => {
    const first = await service.get(path);
    const known = { 'If-None-Match': String(first.headers['etag']) };
    expect({ status: first.status, etag: first.headers['etag'] }).toEqual({
      status: 200,
      etag: expect.stringMatching(/^"[\w-]{27}"$/),
    });
    expect(await service.get(path, known)).toMatchObject({ status: 304, text: '' });
  });

  it('offers a bearer token and a login for each issuer', async () => {
    const { components } = await documentOf(service);
    const schemes = Object.entries(components.securitySchemes ?? {});
    expect(schemes.map(([name, { type, openIdConnectUrl }]) => [name, type, openIdConnectUrl])).toEqual([
      ['bearer', 'http', undefined],
      ['corporate', 'openIdConnect', 'https://idp.example/tenant/.well-known/openid-configuration'],
      ['Gr-e-more', 'openIdConnect', 'https://other.example:8443/.well-known/openid-configuration'],
      ['bearer-2', 'openIdConnect', 'https://idp.example/third/.well-known/openid-configuration'],
    ]);
  });

  it('requires one of them, except on public paths', async () => {
    const { paths } = await documentOf(service);
    const any = [{ bearer: [] }, { corporate: [] }, { 'Gr-e-more': [] }, { 'bearer-2': [] }];
    for (const [path, operations] of Object.entries(paths))
      for (const { security } of Object.values(operations))
        expect({ path, security }).toEqual({
          path,
          security: /^\/\.well-known\/|^\/config\.json$|^\/registry\/.*\/(validate|github-oidc|none)$/.test(
            path,
          )
            ? []
            : any,
        });
  });

  it("has the same security schemes in the consumer API's openapi.yaml", async () => {
    const yaml = parse((await service.get('/registry/main/v0.1/openapi.yaml')).text) as OpenApi;
    const { components } = await documentOf(service);
    expect(yaml.components.securitySchemes).toEqual(components.securitySchemes);
    expect(yaml.paths['/registry']?.['get']?.security).toHaveLength(4);
  });

  it('is the same after a restart', async () => {
    const before = (await service.get('/openapi.json')).text;
    await service.restart();
    expect((await service.get('/openapi.json')).text).toBe(before);
  });

  // Swagger's key order depends on how many documents the process has created, and thus on which files ran earlier.
  it('lists the type of a property first', async () => {
    const { components } = await documentOf(service);
    const properties = Object.values(components.schemas).flatMap((schema) =>
      Object.entries(schema.properties ?? {}),
    );
    const typed = properties.filter(([, property]) => 'type' in property);
    expect(typed.length).toBeGreaterThan(100);
    expect(typed.filter(([, property]) => Object.keys(property)[0] !== 'type')).toEqual([]);
  });

  it('limits connect-src of /docs to the issuers and connectOrigins', async () => {
    expect(await connectSource(service)).toBe(
      "'self' https://idp.example https://other.example:8443 https://login.example",
    );
  });
});

describe('the OpenAPI document in anonymous mode', () => {
  const service = aService()
    .source('main', { servers: [aServer('io.acme/a')] })
    .registry('main', { sources: ['main'] })
    .runs();

  it('has the security scheme of a token, which no operation requires', async () => {
    const { components, paths } = await documentOf(service);
    expect(components.securitySchemes).toEqual({
      bearer: { type: 'http', scheme: 'bearer', description: expect.any(String) as string },
    });
    expect(paths['/v1/sources']?.['get']?.security).toEqual([{}, { bearer: [] }]);
    for (const operations of Object.values(paths))
      for (const { security = [{ bearer: [] }] } of Object.values(operations))
        expect(security[0] ?? {}).toEqual({});
  });

  it('limits connect-src of /docs to this server', async () => {
    expect(await connectSource(service)).toBe("'self'");
  });
});
