import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Configuration, interactionPolicy, Provider } from 'oidc-provider';
import { logInPage, logOutPage } from './log-in-page.js';
import { DEMO_USERS } from './users.js';

const LOOPBACK = '127.0.0.1';
/** Long enough for a day of trying things out. */
const TOKEN_SECONDS = 8 * 60 * 60;
const MAX_FORM_BYTES = 1024;
const LOG_IN = /^\/log-in\/[\w-]+$/;

/** The client id to enter at `/docs`: a public client, without a secret. */
export const DOCS_CLIENT = 'docs';
/** The web UI's client id, as in `registry.yaml`. */
const PAGE_CLIENT = 'page';
const PAGE_PREFIX = '/registries';

/** An identity provider for development: it accepts every login. */
export interface DemoProvider {
  readonly issuer: string;
  /** Returns an access token for a user, as issued at login. */
  tokenFor(user: string): Promise<string>;
  stop(): Promise<void>;
}

export interface DemoProviderOptions {
  /** 0: any free port. */
  readonly port: number;
  /** The `aud` of all access tokens. */
  readonly audience: string;
  readonly scopes: readonly string[];
}

/** Starts the provider on loopback, with a new signing key. */
export async function startDemoProvider(options: DemoProviderOptions): Promise<DemoProvider> {
  const server = createServer();
  await listen(server, options.port);
  const issuer = `http://${LOOPBACK}:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, configuration(options));
  const rest = provider.callback();
  server.on('request', (request, response) => {
    const path = request.url?.split('?', 1)[0] ?? '';
    if (!LOG_IN.test(path)) return void rest(request, response);
    logIn(provider, path, request, response).catch(() => {
      if (!response.headersSent) response.writeHead(400, { 'content-type': 'text/plain' });
      response.end('This login has expired or does not exist. Close the window and authorize again.\n');
    });
  });
  return {
    issuer,
    tokenFor: (user) => issueToken(provider, user, options),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function configuration({ audience, scopes }: DemoProviderOptions): Configuration {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const resource = resourceServer({ audience, scopes });
  // Paths at the root, and below a proxy's prefix.
  const pages = [LOOPBACK, 'localhost'].flatMap((host) => [
    `http://${host}/`,
    `http://${host}${PAGE_PREFIX}/`,
  ]);
  return {
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kty: 'RSA', use: 'sig', alg: 'RS256' }] },
    cookies: { keys: [randomBytes(32).toString('hex')] },
    clients: [
      {
        client_id: DOCS_CLIENT,
        token_endpoint_auth_method: 'none',
        // Loopback ports of native clients are not compared (RFC 8252 §7.3), so any port works.
        application_type: 'native',
        grant_types: ['authorization_code'],
        response_types: ['code'],
        redirect_uris: [LOOPBACK, 'localhost'].flatMap((host) => [
          `http://${host}/docs/oauth2-redirect.html`,
        ]),
      },
      {
        client_id: PAGE_CLIENT,
        token_endpoint_auth_method: 'none',
        application_type: 'native',
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        redirect_uris: pages,
        post_logout_redirect_uris: pages,
      },
    ],
    scopes: ['openid', ...scopes],
    pkce: { required: () => true },
    clientBasedCORS: () => true,
    issueRefreshToken: (_, client) => Promise.resolve(client.grantTypeAllowed('refresh_token')),
    findAccount: (_, name) =>
      isUser(name) ? { accountId: name, claims: () => ({ sub: name, ...claimsOf(name) }) } : undefined,
    extraTokenClaims: (_, token) => ('accountId' in token ? claimsOf(token.accountId) : undefined),
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: { logoutSource: (context, form) => void (context.body = logOutPage(form)) },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => audience,
        useGrantedResource: () => true,
        getResourceServerInfo: () => resource,
      },
    },
    interactions: { policy: alwaysAsk(), url: (_, interaction) => `/log-in/${interaction.uid}` },
    loadExistingGrant: async ({ oidc }) => {
      const { client, session } = oidc;
      if (!client || session?.accountId === undefined) return undefined;
      return grantAll(oidc.provider, client.clientId, session.accountId, { audience, scopes });
    },
    ttl: {
      AccessToken: TOKEN_SECONDS,
      AuthorizationCode: 60,
      Grant: TOKEN_SECONDS,
      IdToken: TOKEN_SECONDS,
      Interaction: 60 * 60,
      RefreshToken: TOKEN_SECONDS * 2,
      Session: TOKEN_SECONDS,
    },
  };
}

function resourceServer({ audience, scopes }: Pick<DemoProviderOptions, 'audience' | 'scopes'>) {
  return {
    scope: scopes.join(' '),
    audience,
    accessTokenTTL: TOKEN_SECONDS,
    accessTokenFormat: 'jwt' as const,
    jwt: { sign: { alg: 'RS256' as const } },
  };
}

// Asks for the user at every login, so that /docs can switch users; the web UI does this itself when logging out.
// Asks for no consent, because the clients belong to the registry.
function alwaysAsk(): interactionPolicy.DefaultPolicy {
  const policy = interactionPolicy.base();
  const { Check } = interactionPolicy;
  policy.remove('consent');
  policy
    .get('login')
    ?.checks.push(
      new Check('somebody_new', 'a user must be chosen at each login', ({ oidc }) =>
        oidc.result?.login || oidc.client?.clientId === PAGE_CLIENT
          ? Check.NO_NEED_TO_PROMPT
          : Check.REQUEST_PROMPT,
      ),
    );
  return policy;
}

async function logIn(
  provider: Provider,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  await provider.interactionDetails(request, response);
  if (request.method !== 'POST') {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' });
    response.end(logInPage(path));
    return;
  }
  const user = new URLSearchParams(await formOf(request)).get('user') ?? '';
  if (!isUser(user)) throw new Error('No user with that name');
  await provider.interactionFinished(request, response, { login: { accountId: user } });
}

async function issueToken(
  provider: Provider,
  accountId: string,
  { audience, scopes }: DemoProviderOptions,
): Promise<string> {
  const client = await provider.Client.find(DOCS_CLIENT);
  if (!client) throw new Error(`The provider has lost its client ${DOCS_CLIENT}`);
  const grant = await grantAll(provider, DOCS_CLIENT, accountId, { audience, scopes });
  const token = new provider.AccessToken({
    client,
    accountId,
    grantId: grant.jti,
    gty: 'authorization_code',
    scope: scopes.join(' '),
    resourceServer: new provider.ResourceServer(audience, resourceServer({ audience, scopes })),
  });
  return token.save();
}

async function grantAll(
  provider: Provider,
  clientId: string,
  accountId: string,
  { audience, scopes }: Pick<DemoProviderOptions, 'audience' | 'scopes'>,
) {
  const grant = new provider.Grant({ clientId, accountId });
  grant.addOIDCScope('openid');
  grant.addResourceScope(audience, scopes.join(' '));
  await grant.save();
  return grant;
}

function isUser(name: string): boolean {
  return DEMO_USERS.some((user) => user.name === name);
}

function claimsOf(name: string): Record<string, unknown> {
  return { ...DEMO_USERS.find((user) => user.name === name)?.claims };
}

async function formOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8') as AsyncIterable<string>) {
    text += chunk;
    if (text.length > MAX_FORM_BYTES) throw new Error('The form is too large');
  }
  return text;
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, LOOPBACK, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
