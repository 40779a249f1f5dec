import type { NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { stringify } from 'yaml';
import type { OAuthConfig, ProviderConfig } from '../../config/config.js';
import { isFresh, JsonText, sendNotModified } from '../json-answers.js';
import { schemasIn, stateRules } from './schemas.js';

// The next three functions run in the browser, on /docs. Swagger UI receives their source text, so they must not use imports
// or other code in this file.

/** What a login form shows and preselects. */
interface LogInDefaults {
  readonly usePkceWithAuthorizationCodeGrant: true;
  /** Preselected in every form, and requested even if the form does not show them. */
  readonly scopes: readonly string[];
  /** Offered by the forms of the providers that list them. */
  readonly offeredScopes: readonly string[];
}

interface DocsPage {
  readonly location: { readonly origin: string; readonly pathname: string };
  readonly ui: {
    getConfigs(): { oauth2RedirectUrl?: string };
    initOAuth(defaults: LogInDefaults): void;
    readonly authSelectors: { getConfigs(): LogInDefaults };
  };
}
declare const window: DocsPage;

interface OutgoingRequest {
  readonly url: string;
  signal?: AbortSignal;
  curlOptions?: string[];
}

interface IncomingResponse {
  readonly url: string;
  readonly ok: boolean;
  text: string;
}

/**
 * Sets the OAuth redirect URL. Swagger UI would resolve it relative to the page, which works for `/docs/` but not for
 * `/docs`. Only the browser knows the host name in use.
 */
function comeBackToThisHost(): void {
  const { origin, pathname } = window.location;
  window.ui.getConfigs().oauth2RedirectUrl = `${origin}${pathname.replace(/\/$/, '')}/oauth2-redirect.html`;
}

/** Limits how long the page waits for a provider's discovery document. */
function limitDiscovery(request: OutgoingRequest): OutgoingRequest {
  request.curlOptions = [];
  if (request.url.endsWith('/.well-known/openid-configuration')) request.signal = AbortSignal.timeout(5000);
  return request;
}

/**
 * Swagger UI shows a form for every grant and scope in a discovery document. Leaves only the code flow, with `openid` and
 * the scopes of this server that the provider lists: some providers refuse others.
 */
function offerCodeFlowOnly(response: IncomingResponse): IncomingResponse {
  if (!response.ok || !response.url.endsWith('/.well-known/openid-configuration')) return response;
  const discovery = JSON.parse(response.text) as {
    authorization_endpoint?: unknown;
    scopes_supported?: readonly string[];
  };
  const defaults = window.ui.authSelectors.getConfigs();
  const listed = ['openid', ...(discovery.scopes_supported ?? [])];
  window.ui.initOAuth({ ...defaults, scopes: defaults.scopes.filter((scope) => listed.includes(scope)) });
  response.text = JSON.stringify({
    ...discovery,
    grant_types_supported: discovery.authorization_endpoint === undefined ? [] : ['authorization_code'],
    scopes_supported: defaults.offeredScopes.filter((scope) => listed.includes(scope)),
  });
  return response;
}

/** Paths of operations that need a token; all others are public (reference/access). */
const TOKEN_PATH = /^\/(v1|registry)(\/|$)/;
/** Public exceptions, which publishers call before they have a token (reference/publishing). */
const PUBLIC_PATH = /^\/registry\/.*\/(validate|auth\/(github-oidc|none))$/;

const PASTED = 'bearer';

const METHODS = ['get', 'put', 'post', 'delete', 'patch'] as const;

/**
 * Adds the security schemes: a pasted token, or login with a provider. The document only links to the providers'
 * discovery documents, so an unavailable provider does not affect startup. In anonymous mode the token is optional, so
 * that clients generated there can send one to other servers.
 */
function describeTokens(document: OpenAPIObject, oauth: OAuthConfig | null): void {
  const schemes = { [PASTED]: pasted(), ...Object.fromEntries(logIns(oauth?.providers ?? [])) };
  document.components = { ...document.components, securitySchemes: schemes };
  const security = [...(oauth ? [] : [{}]), ...Object.keys(schemes).map((name) => ({ [name]: [] }))];
  for (const [path, operations] of Object.entries(document.paths)) {
    const needed = TOKEN_PATH.test(path) && !PUBLIC_PATH.test(path) ? security : [];
    for (const method of METHODS) {
      const operation = operations[method];
      if (operation) operation.security = needed.map((requirement) => ({ ...requirement }));
    }
  }
}

function pasted() {
  return {
    type: 'http' as const,
    scheme: 'bearer',
    description: 'An access token from one of the configured identity providers, issued for this registry',
  };
}

// Providers that differ only in audience share one login form, because the login is the same.
function logIns(providers: readonly ProviderConfig[]) {
  const byIssuer = new Map<string, ProviderConfig>();
  for (const provider of providers)
    if (!byIssuer.has(provider.issuerUrl)) byIssuer.set(provider.issuerUrl, provider);
  const taken = new Set([PASTED]);
  return [...byIssuer.values()].map((provider) => [
    schemeName(provider.name, taken),
    {
      type: 'openIdConnect' as const,
      openIdConnectUrl: `${provider.issuerUrl.replace(/\/$/, '')}/.well-known/openid-configuration`,
      description: `Log in at ${provider.issuerUrl}`,
    },
  ]);
}

// Component names may contain only letters, digits, ".", "-" and "_"; provider names may contain any character.
function schemeName(providerName: string, taken: Set<string>): string {
  const plain = providerName.replaceAll(/[^A-Za-z0-9._-]+/g, '-');
  let name = plain;
  for (let count = 2; taken.has(name); count += 1) name = `${plain}-${count}`;
  taken.add(name);
  return name;
}

const ALIAS_PATH = /^\/registry\/\{registry\}\/(v0|x(?!\/(feed|content|marketplace)))\//;
const CONSUMER_PATH = /^\/registry(\/\{registry\}\/(v0\.1\/|mcp$|x\/(feed|content|marketplace))|$)/;

/** The version of the MCP Registry API (reference/catalog). */
const CONSUMER_VERSION = '1.0.0';
const MCP_REGISTRY = 'the MCP Registry v0.1 API (https://github.com/modelcontextprotocol/registry)';
const ERRORS = `
Every error response has the body \`ErrorAnswer\`: programs read its \`code\`, which is stable; its sentence may change.

Each operation lists its errors. Any request may also be refused early with 400 \`malformed_request\`, 408 \`request_timeout\`,
417 \`expectation_failed\` or 431 \`headers_too_large\`; in anonymous mode also with 400 \`host_refused\`, or with 403 \`origin_refused\`
when a page from another origin sends it. No operation described here returns 405: a method that the path does not support gets
\`method_not_allowed\` with \`Allow\`. A registry may allow reads without a token, or with a key below
\`/registry/{registry}/k/{key}\`; an invalid key gets 404 \`registry_not_found\`.
Other writes below \`/registry\` get 501 \`use_admin_api\`.`;

interface DescribedServer {
  readonly version: string;
  /** Null in anonymous mode. */
  readonly oauth: OAuthConfig | null;
}

/** Computes a value from the OAuth settings, again only after a reload changed them. */
type Derive = <T>(compute: (oauth: OAuthConfig | null) => T) => () => T;

/**
 * Documents every route at `/openapi.json`, `/openapi.yaml` and `/docs`, and the consumer API at its `openapi.yaml`. Each
 * document is generated on its first request: generating it at startup would more than double the startup time.
 */
export function publishOpenApi(app: NestExpressApplication, version: string, derive: Derive): void {
  const described = derive((oauth) => describeApi(app, { version, oauth }));
  const logIn = derive((oauth) => (oauth ? logInOptions(oauth) : {}));
  SwaggerModule.setup('docs', app, described, {
    // Swagger would generate the raw documents for each request.
    raw: false,
    // Swagger keeps the first document.
    patchDocumentOnRequest: described,
    customSiteTitle: 'Registry Server API',
    swaggerOptions: { validatorUrl: null, ...logIn() },
  });
  const serve = (paths: string[], type: string, text: () => string) => {
    const made = derive(() => tagged(text()));
    app
      .getHttpAdapter()
      .getInstance()
      .get(paths, (_: Request, response: Response) => {
        const { text: body, etag } = made();
        response.setHeader('ETag', etag);
        if (isFresh(response, etag)) sendNotModified(response);
        else response.type(type).send(body);
      });
  };
  const yaml = (shown: OpenAPIObject) => stringify(shown, { aliasDuplicateObjects: false });
  serve(['/openapi.json'], 'application/json', () => JSON.stringify(described()));
  serve(['/openapi.yaml'], 'text/yaml', () => yaml(described()));
  // The response is the same for every registry name: a public path must not reveal which registries exist.
  const consumerPaths = ['/v0.1', '/v0', ''].map((version) => `/registry/:registry${version}/openapi.yaml`);
  serve(consumerPaths, 'application/yaml', () => yaml(consumerApi(described())));
}

function tagged(text: string) {
  return { text, etag: new JsonText(text).etag };
}

// The user enters the client ID, because the configuration has none for /docs.
function logInOptions({ scopesSupported }: OAuthConfig): Record<string, unknown> {
  const scopes = [...new Set(['openid', ...scopesSupported])];
  const initOAuth: LogInDefaults = { usePkceWithAuthorizationCodeGrant: true, scopes, offeredScopes: scopes };
  return {
    onComplete: comeBackToThisHost,
    requestInterceptor: limitDiscovery,
    responseInterceptor: offerCodeFlowOnly,
    initOAuth,
  };
}

/** Returns the OpenAPI 3.1 document for all routes, without aliases. */
export function describeApi(app: NestExpressApplication, { version, oauth }: DescribedServer): OpenAPIObject {
  const config = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Registry Server')
    .setVersion(version)
    .setDescription(
      `Catalogs of MCP servers, skills and plugins as named registries. The consumer API follows ${MCP_REGISTRY}.\n${ERRORS}`,
    )
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .addTag('catalog', 'The consumer API: the contents of a registry')
    .addTag('publishing', 'Publishing through a registry with `mcp-publisher`')
    .addTag('discovery', 'Where to get tokens for this server')
    .addTag('identity', 'Who the caller is')
    .addTag('sources', 'The admin API: where entries come from')
    .addTag('registries', 'The admin API: ordered views of sources, and who can access them')
    .addTag('entries', 'The admin API: publishing to the managed source')
    .addTag('admission', 'The admin API: held versions and changes, and decisions about them')
    .addTag('blocks', 'The admin API: what is kept out of every source')
    .addTag('page', 'The web UI at `/`')
    .addTag('access', 'The admin API: who has access, and why')
    .addTag('audit', 'The admin API: the audit trail')
    .addTag('webhooks', 'The admin API: the delivery of audit events')
    .build();
  const document = SwaggerModule.createDocument(app, config, { autoTagControllers: false });
  // Clients use the origin of the document, because it has no `servers`.
  delete document.servers;
  document.paths = pathsOf(document, (path) => !ALIAS_PATH.test(path));
  stateRules(document);
  describeMcpErrors(document);
  describeTokens(document, oauth);
  for (const [path, operations] of Object.entries(document.paths))
    for (const method of METHODS) operations[method]?.parameters?.sort(inOrderOf(path));
  return document;
}

/** Clients of MCP protocol 2026-07-28 get the errors of a message as JSON-RPC errors. */
function describeMcpErrors({ paths }: OpenAPIObject): void {
  const { responses = {} } = paths['/registry/{registry}/mcp']?.post ?? {};
  for (const refused of [responses['400'], responses['404']]) {
    const json = refused && 'content' in refused ? refused.content?.['application/json'] : undefined;
    if (json?.schema) json.schema = { oneOf: [json.schema, { $ref: '#/components/schemas/McpMessage' }] };
  }
}

type Parameters = NonNullable<NonNullable<OpenAPIObject['paths'][string]['get']>['parameters']>;

/** Orders the path parameters as in the path, which is the order of arguments in generated functions; others follow. */
function inOrderOf(path: string): (one: Parameters[number], other: Parameters[number]) => number {
  const place = (parameter: Parameters[number]) =>
    'in' in parameter && parameter.in === 'path' ? path.indexOf(`{${parameter.name}}`) : path.length;
  return (one, other) => place(one) - place(other);
}

function consumerApi(document: OpenAPIObject): OpenAPIObject {
  const paths = pathsOf(document, (path) => CONSUMER_PATH.test(path));
  return {
    ...document,
    info: {
      ...document.info,
      title: 'Registry Server, consumer API',
      version: CONSUMER_VERSION,
      description: `The contents of a registry, following ${MCP_REGISTRY}.\n${ERRORS}`,
    },
    paths,
    tags: (document.tags ?? []).filter(({ name }) => ['catalog', 'publishing'].includes(name)),
    components: { ...document.components, schemas: schemasIn(paths, document.components?.schemas ?? {}) },
  };
}

function pathsOf({ paths }: OpenAPIObject, isWanted: (path: string) => boolean): OpenAPIObject['paths'] {
  return Object.fromEntries(Object.entries(paths).filter(([path]) => isWanted(path)));
}
