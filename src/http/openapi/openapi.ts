import type { NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { stringify } from 'yaml';
import type { OAuthConfig, ProviderConfig } from '../../config/config.js';
import { JsonText } from '../json-answers.js';

// What runs in the browser, on the page of /docs. Swagger UI gets these functions as text, so each stands by itself: no
// imports, nothing of this file from inside a function.

interface DocsPage {
  readonly location: { readonly origin: string; readonly pathname: string };
  readonly ui: {
    getConfigs(): { oauth2RedirectUrl?: string };
    readonly authSelectors: { getConfigs(): { readonly scopes?: readonly string[] } | undefined };
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
 * Where the provider sends the browser back to. Swagger UI takes it for a sibling of the page's address, which is right for
 * `/docs/` and wrong for `/docs`; and only the browser knows under which host the page was opened.
 */
export function comeBackToThisHost(): void {
  const { origin, pathname } = window.location;
  window.ui.getConfigs().oauth2RedirectUrl = `${origin}${pathname.replace(/\/$/, '')}/oauth2-redirect.html`;
}

/** A provider that never answers must not hold up the page, which waits for its discovery document. */
export function limitDiscovery(request: OutgoingRequest): OutgoingRequest {
  request.curlOptions = [];
  if (request.url.endsWith('/.well-known/openid-configuration')) request.signal = AbortSignal.timeout(5000);
  return request;
}

/**
 * Swagger UI offers a form for every grant and a box for every scope in a provider's discovery document. For this page
 * only the code flow makes sense, and the scopes of this registry, which many providers don't list.
 */
export function offerCodeFlowOnly(response: IncomingResponse): IncomingResponse {
  if (!response.ok || !response.url.endsWith('/.well-known/openid-configuration')) return response;
  const discovery = JSON.parse(response.text) as { authorization_endpoint?: unknown };
  const scopes = window.ui.authSelectors.getConfigs()?.scopes ?? [];
  response.text = JSON.stringify({
    ...discovery,
    grant_types_supported: discovery.authorization_endpoint === undefined ? [] : ['authorization_code'],
    scopes_supported: [...new Set(['openid', ...scopes])],
  });
  return response;
}

/** The operations a token is asked for; what stands elsewhere is public (spec §5.3). */
const TOKEN_PATH = /^\/(v1|registry)(\/|$)/;
/** Of those, what a publisher asks before they have one (contract §6.2). */
const PUBLIC_PATH = /^\/registry\/.*\/(validate|auth\/github-oidc)$/;

const PASTED = 'bearer';

/**
 * Adds to the document how to send a token: pasted, or by logging in at one of the providers. The document only names where a
 * provider's discovery document is. Whoever reads it asks there: this server asks nothing, so a provider that is
 * down neither delays the start nor changes the document.
 */
export function describeTokens(document: OpenAPIObject, oauth: OAuthConfig): void {
  const schemes = { [PASTED]: pasted(), ...Object.fromEntries(logIns(oauth.providers)) };
  document.components = { ...document.components, securitySchemes: schemes };
  const security = Object.keys(schemes).map((name) => ({ [name]: [] }));
  for (const [path, operations] of Object.entries(document.paths)) {
    const needed = TOKEN_PATH.test(path) && !PUBLIC_PATH.test(path) ? security : [];
    for (const method of ['get', 'put', 'post', 'delete', 'patch'] as const) {
      const operation = operations[method];
      if (operation) operation.security = needed.map((requirement) => ({ ...requirement }));
    }
  }
}

function pasted() {
  return {
    type: 'http' as const,
    scheme: 'bearer',
    description: 'An access token of one of the configured identity providers, issued for this registry',
  };
}

// Two providers of one issuer, with different audiences, have one log-in form: the provider is asked the same either way.
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

// Names of components are letters, digits, ".", "-" and "_"; those of providers are anything.
function schemeName(providerName: string, taken: Set<string>): string {
  const plain = providerName.replaceAll(/[^A-Za-z0-9._-]+/g, '-');
  let name = plain;
  for (let count = 2; taken.has(name); count += 1) name = `${plain}-${count}`;
  taken.add(name);
  return name;
}

const ALIAS_PATH = /^\/registry\/\{registry\}\/(v0|x)\//;
const CONSUMER_PATH = /^\/registry(\/\{registry\}\/(v0\.1\/|mcp$)|$)/;

/** Of the MCP Registry API (contract §6). */
const CONSUMER_VERSION = '1.0.0';
const MCP_REGISTRY = 'the MCP Registry v0.1 API (https://github.com/modelcontextprotocol/registry)';
const ERRORS = `
Every error answer has the body of \`ErrorAnswer\`: programs read its \`code\`, which never changes; its sentence may.

Each operation names the errors it can answer. Before a request is looked at, it may also be refused with 400 \`malformed_request\`,
408 \`request_timeout\`, 417 \`expectation_failed\` or 431 \`headers_too_large\`; and in anonymous mode with 400 \`host_refused\` or
403 \`origin_refused\`, when a page of another origin sends it. No operation described here answers 405: \`method_not_allowed\` is
for methods that a path does not have, and \`Allow\` names those that it has. A registry may answer reads without a token, or, below
\`/registry/{registry}/k/{key}\`, to whoever knows one of its keys; a key that is no good is 404 \`registry_not_found\`. Whatever else is sent below \`/registry\` to change
something gets 501 \`use_admin_api\`.`;

/** What a document depends on beside the routes. */
export interface DescribedServer {
  /** The version of this program. */
  readonly version: string;
  /** Where tokens come from; undefined when none are asked for, and then nothing offers to send one. */
  readonly oauth: OAuthConfig | undefined;
}

/**
 * Documents every route at `/openapi.json`, `/openapi.yaml` and `/docs`, and the consumer API alone at its `openapi.yaml`. Each is
 * made when it is first asked for, once: it takes longer than the rest of a start, and anybody may ask.
 */
export function publishOpenApi(app: NestExpressApplication, server: DescribedServer): void {
  let document: OpenAPIObject | undefined;
  const described = () => (document ??= describeApi(app, server));
  SwaggerModule.setup('docs', app, described, {
    // Swagger would write them anew for each request.
    raw: false,
    customSiteTitle: 'Registry Server API',
    swaggerOptions: { validatorUrl: null, ...(server.oauth ? logInOptions(server.oauth) : {}) },
  });
  const serve = (paths: string[], type: string, text: () => string) => {
    let made: { readonly text: string; readonly etag: string } | undefined;
    app
      .getHttpAdapter()
      .getInstance()
      .get(paths, (_: Request, response: Response) => {
        made ??= tagged(text());
        response.type(type).setHeader('ETag', made.etag).send(made.text);
      });
  };
  const yaml = (shown: OpenAPIObject) => stringify(shown, { aliasDuplicateObjects: false });
  serve(['/openapi.json'], 'application/json', () => JSON.stringify(described()));
  serve(['/openapi.yaml'], 'text/yaml', () => yaml(described()));
  // The same bytes for every name: a public path must not tell which registries exist.
  const consumerPaths = ['/v0.1', '/v0', ''].map((version) => `/registry/:registry${version}/openapi.yaml`);
  serve(consumerPaths, 'application/yaml', () => yaml(consumerApi(described())));
}

function tagged(text: string) {
  return { text, etag: new JsonText(text).etag };
}

// The client id is for the person at the page to give: it belongs to the provider, and the configuration has none for browsers.
function logInOptions({ scopesSupported }: OAuthConfig): Record<string, unknown> {
  return {
    onComplete: comeBackToThisHost,
    requestInterceptor: limitDiscovery,
    responseInterceptor: offerCodeFlowOnly,
    initOAuth: { usePkceWithAuthorizationCodeGrant: true, scopes: scopesSupported },
  };
}

/** The OpenAPI 3.1 document of every route, but for those that are another name of one. */
export function describeApi(app: NestExpressApplication, { version, oauth }: DescribedServer): OpenAPIObject {
  const config = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Registry Server')
    .setVersion(version)
    .setDescription(
      `Catalogues of MCP servers and skills as named registries. The consumer API follows ${MCP_REGISTRY}.\n${ERRORS}`,
    )
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .addTag('catalog', 'The consumer API: what a registry holds')
    .addTag('publishing', 'What `mcp-publisher` sends: publishing through a registry that takes it')
    .addTag('discovery', 'Where tokens for this server come from')
    .addTag('identity', 'Who the caller is')
    .addTag('sources', 'The admin API: where entries come from')
    .addTag('registries', 'The admin API: which sources are shown together, and to whom')
    .addTag('entries', 'The admin API: publishing to the managed source')
    .addTag('page', 'The page for people at `/`')
    .addTag('audit', 'The admin API: who did what to what')
    .build();
  const document = SwaggerModule.createDocument(app, config);
  // Empty as Swagger writes it: the server is the one that the document comes from.
  delete document.servers;
  document.paths = pathsOf(document, (path) => !ALIAS_PATH.test(path));
  if (oauth) describeTokens(document, oauth);
  return document;
}

/** The consumer API alone, as clients of the MCP Registry expect to find it. */
function consumerApi(document: OpenAPIObject): OpenAPIObject {
  const paths = pathsOf(document, (path) => CONSUMER_PATH.test(path));
  return {
    ...document,
    info: {
      ...document.info,
      title: 'Registry Server, consumer API',
      version: CONSUMER_VERSION,
      description: `What a registry holds, after ${MCP_REGISTRY}.\n${ERRORS}`,
    },
    paths,
    tags: (document.tags ?? []).filter(({ name }) => ['catalog', 'publishing'].includes(name)),
    components: { ...document.components, schemas: schemasIn(paths, document.components?.schemas ?? {}) },
  };
}

function pathsOf({ paths }: OpenAPIObject, isWanted: (path: string) => boolean): OpenAPIObject['paths'] {
  return Object.fromEntries(Object.entries(paths).filter(([path]) => isWanted(path)));
}

/** Those of the schemas that a part of the document refers to, directly or by way of others. */
function schemasIn<T extends object>(part: object, schemas: Record<string, T>, found = new Set<string>()) {
  for (const [, name = ''] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
    const schema = schemas[name];
    if (!schema || found.has(name)) continue;
    found.add(name);
    schemasIn(schema, schemas, found);
  }
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => found.has(name)));
}
