import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll } from 'vitest';
import { type Certificates, makeCertificates } from './certificates.js';
import { type InjectedFault, injectFault, send } from './fault-injection.js';
import { close, listen, portOf } from './loopback.js';
import { keepSecret } from './secrets.js';
import { type Algorithm, type KeyPair, makeKeyPair, makeToken, type RawToken } from './tokens.js';

export type Endpoint = 'discovery' | 'jwks' | 'introspection' | 'userinfo' | 'groups';

export interface ReceivedRequest {
  readonly endpoint: Endpoint | 'other';
  readonly method: string;
  readonly authorization: string | undefined;
  readonly body: string;
}

interface IssuerOptions {
  /** Use TLS with a certificate from a private CA. */
  tls?: boolean;
  /** `iss` of its tokens, if it differs from the URL. */
  iss?: string;
  audience?: string;
  /** A recorded discovery document; its issuer is replaced by this one's URL. */
  discovery?: { readonly issuer: string };
  /** Credentials required at the introspection endpoint. */
  client?: { id: string; secret: string };
  /** The bearer token required for keys and introspection; evaluated at each request. */
  bearer?: () => string;
}

interface SigningKey extends KeyPair {
  readonly alg: Algorithm;
}

type Claims = Record<string, unknown>;

const PATHS: Record<string, Endpoint> = {
  '/.well-known/openid-configuration': 'discovery',
  '/jwks': 'jwks',
  '/introspect': 'introspection',
  '/userinfo': 'userinfo',
  '/groups': 'groups',
  '/protocol/openid-connect/certs': 'jwks',
  '/protocol/openid-connect/token/introspect': 'introspection',
};

/** Serves the same endpoints without faults, as a redirect target. */
const MOVED = '/moved';
const HOUR_S = 3600;

/**
 * Describes an identity provider on 127.0.0.1; `runs()` starts it before the tests of the file and stops it
 * after them.
 */
export function anIssuer(options: IssuerOptions = {}): Issuer {
  return new Issuer(options);
}

export class Issuer {
  readonly audience: string;
  readonly requests: ReceivedRequest[] = [];
  /** The traceparent headers received. */
  readonly traceparents: string[] = [];
  private readonly keys = new Map<string, SigningKey>();
  private readonly answers = new Map<string, Claims>();
  private readonly holders = new Map<string, Claims>();
  private readonly rejected = new Map<string, number>();
  private readonly behaviour = new Map<Endpoint, InjectedFault>();
  private readonly certificates: Certificates | undefined;
  private readonly server: Server;

  constructor(private readonly options: IssuerOptions) {
    this.audience = options.audience ?? 'registry';
    const listener = (request: IncomingMessage, response: ServerResponse) => {
      this.answer(request, response).catch(() => response.destroy());
    };
    this.certificates = options.tls ? makeCertificates() : undefined;
    this.server = this.certificates
      ? createTlsServer({ cert: this.certificates.cert, key: this.certificates.key }, listener)
      : createServer(listener);
    if (options.client) keepSecret(options.client.secret);
  }

  runs(): this {
    beforeAll(() => this.start());
    afterAll(() => this.stop());
    return this;
  }

  async start(port = 0): Promise<void> {
    await listen(this.server, port);
  }

  async stop(): Promise<void> {
    await close(this.server);
  }

  get port(): number {
    return portOf(this.server);
  }

  /** The URL it listens on. */
  get url(): string {
    return `${this.certificates ? 'https' : 'http'}://127.0.0.1:${this.port}`;
  }

  /** The `iss` of its tokens. */
  get iss(): string {
    return this.options.iss ?? this.url;
  }

  get jwksUrl(): string {
    return `${this.url}/jwks`;
  }

  /** A separate endpoint that returns the groups of a token's holder. */
  get groupsUrl(): string {
    return `${this.url}/groups`;
  }

  get introspectionUrl(): string {
    return `${this.url}/introspect`;
  }

  /** The CA certificate, PEM. */
  get ca(): string {
    return this.certificates?.ca ?? '';
  }

  requestsTo(endpoint: ReceivedRequest['endpoint']): ReceivedRequest[] {
    return this.requests.filter((request) => request.endpoint === endpoint);
  }

  /** The key with this id; created on first use. */
  key(kid: string, { alg = 'ES256' }: { alg?: Algorithm } = {}): SigningKey {
    const key = this.keys.get(kid) ?? { alg, ...makeKeyPair(alg) };
    this.keys.set(kid, key);
    return key;
  }

  /** Publishes a new key and signs with it from now on; earlier keys stay published. */
  rotate(options: { alg?: Algorithm } = {}): string {
    const kid = randomUUID();
    this.key(kid, options);
    return kid;
  }

  /** Unpublishes a key. */
  remove(kid: string): void {
    this.keys.delete(kid);
  }

  /** The ids of all published keys. */
  get kids(): string[] {
    return [...this.keys.keys()];
  }

  /** The default signing key: the newest one. */
  get currentKid(): string {
    return [...this.keys.keys()].at(-1) ?? this.rotate();
  }

  /** The claims of a token: these, and the usual ones. An undefined claim is omitted. */
  claims(more: Claims = {}): Claims {
    const now = Math.floor(Date.now() / 1000);
    return { iss: this.iss, aud: this.audience, sub: 'somebody', iat: now, exp: now + HOUR_S, ...more };
  }

  /**
   * Signs a token. Header members can be changed or, when undefined, omitted; `kid` selects the signing key,
   * and an unknown `kid` the newest one.
   */
  sign(claims: Claims = {}, header: Claims = {}): string {
    const kid = String(header['kid']);
    const { alg, privateKey } = this.key(this.keys.has(kid) ? kid : this.currentKid);
    return this.raw({
      header: { alg, typ: 'JWT', kid: this.currentKid, ...header },
      payload: this.claims(claims),
      key: privateKey,
      alg,
    });
  }

  /** A token of any shape. */
  raw(token: RawToken): string {
    return keepSecret(makeToken(token));
  }

  /** An opaque token that introspection reports as active with these claims. */
  opaque(claims: Claims = {}): string {
    const token = keepSecret(`opaque-${randomUUID()}`);
    this.answers.set(token, { active: true, ...this.claims(claims) });
    return token;
  }

  /** Sets the introspection response for a token of any shape. */
  knows(token: string, answer: Claims): void {
    this.answers.set(keepSecret(token), answer);
  }

  setUserinfo(token: string, about: Claims): string {
    this.holders.set(`Bearer ${keepSecret(token)}`, about);
    return token;
  }

  /** Makes introspection of this token return this status. */
  rejects(token: string, status: number): void {
    this.rejected.set(keepSecret(token), status);
  }

  injectFault(endpoint: Endpoint, how: InjectedFault): void {
    this.behaviour.set(endpoint, how);
  }

  behave(): void {
    this.behaviour.clear();
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    const isMoved = path.startsWith(MOVED);
    const endpoint = PATHS[isMoved ? path.slice(MOVED.length) : path] ?? 'other';
    const body = await text(request);
    const { authorization, accept = '*/*', traceparent } = request.headers;
    if (traceparent !== undefined) this.traceparents.push(String(traceparent));
    this.requests.push({ endpoint, method: request.method ?? '', authorization, body });
    if (endpoint === 'other') return send(response, 404, {});
    // Behaves like the Kubernetes API server.
    if (endpoint === 'jwks' && !/jwk-set\+json|\*\/\*/.test(accept)) return send(response, 406, {});
    if (endpoint !== 'discovery' && !this.admits(endpoint, authorization)) return send(response, 401, {});
    const status = this.rejected.get(new URLSearchParams(body).get('token') ?? '');
    if (status !== undefined) return send(response, status, { error: 'invalid_request' });
    const right = this.rightAnswer(endpoint, body, authorization);
    const how = isMoved ? undefined : this.behaviour.get(endpoint);
    return how === undefined ? send(response, 200, right) : injectFault(response, how, right);
  }

  private admits(endpoint: Endpoint, authorization: string | undefined): boolean {
    const { bearer, client } = this.options;
    if (endpoint === 'userinfo' || endpoint === 'groups') return this.holders.has(authorization ?? '');
    if (bearer) return authorization === `Bearer ${keepSecret(bearer())}`;
    if (endpoint !== 'introspection' || !client) return true;
    // RFC 6749 §2.3.1: both are form-encoded before they are joined.
    const pair = [client.id, client.secret].map((half) =>
      new URLSearchParams({ '': half }).toString().slice(1),
    );
    const basic = Buffer.from(pair.join(':')).toString('base64');
    return authorization === `Basic ${keepSecret(basic)}`;
  }

  private rightAnswer(endpoint: Endpoint, body: string, authorization = ''): Claims {
    const recorded = this.options.discovery;
    if (endpoint === 'discovery' && recorded)
      return JSON.parse(JSON.stringify(recorded).replaceAll(recorded.issuer, this.iss)) as Claims;
    if (endpoint === 'discovery')
      return {
        issuer: this.iss,
        jwks_uri: this.jwksUrl,
        introspection_endpoint: this.introspectionUrl,
        userinfo_endpoint: `${this.url}/userinfo`,
        authorization_endpoint: `${this.url}/authorize`,
        token_endpoint: `${this.url}/token`,
        response_types_supported: ['code'],
      };
    if (endpoint === 'jwks') return { keys: this.publishedKeys() };
    if (endpoint === 'userinfo' || endpoint === 'groups') return this.holders.get(authorization) ?? {};
    const token = new URLSearchParams(body).get('token');
    return this.answers.get(token ?? '') ?? { active: false };
  }

  private publishedKeys(): object[] {
    // A key is published before the first token is signed.
    if (this.keys.size === 0) this.rotate();
    return [...this.keys].map(([kid, { alg, publicKey }]) => ({
      ...publicKey.export({ format: 'jwk' }),
      kid,
      alg,
      use: 'sig',
    }));
  }
}
