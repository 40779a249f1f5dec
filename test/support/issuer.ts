import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll } from 'vitest';
import { type Certificates, makeCertificates } from './certificates.js';
import { keepSecret } from './secrets.js';
import { type Algorithm, type KeyPair, makeKeyPair, makeToken, type RawToken } from './tokens.js';

export type Endpoint = 'discovery' | 'jwks' | 'introspection';

export type Misbehaviour =
  | 'hang' // takes the request and never answers
  | 'drip' // answers one byte at a time, for ever
  | 'down' // closes the connection
  | 'error' // 500
  | 'html' // 200 with a page
  | 'garbage' // 200 with half a JSON document
  | 'huge' // the right answer in 50 MB
  | 'wrong-issuer' // the right answer, and somebody else's issuer in it
  | { readonly redirect: string }
  | { readonly answer: unknown };

export interface ReceivedRequest {
  readonly endpoint: Endpoint | 'other';
  readonly method: string;
  readonly authorization: string | undefined;
  readonly body: string;
}

interface IssuerOptions {
  /** With a certificate of a private authority. */
  tls?: boolean;
  /** `iss` of its tokens, where that is not its address. */
  iss?: string;
  audience?: string;
  /** What a client of the introspection endpoint has to prove. */
  client?: { id: string; secret: string };
  /** The bearer token without which keys and introspection are refused; asked at each request. */
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
};

const HUGE_BYTES = 50_000_000;
const DRIP_MS = 100;
const HOUR_S = 3600;

/** Describes an identity provider on 127.0.0.1; `runs()` starts it before the tests of the file and stops it after them. */
export function anIssuer(options: IssuerOptions = {}): Issuer {
  return new Issuer(options);
}

export class Issuer {
  readonly audience: string;
  /** Everything it was asked. */
  readonly requests: ReceivedRequest[] = [];
  private readonly keys = new Map<string, SigningKey>();
  private readonly answers = new Map<string, Claims>();
  private readonly behaviour = new Map<Endpoint, Misbehaviour>();
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
    this.server.listen(port, '127.0.0.1');
    await once(this.server, 'listening');
  }

  async stop(): Promise<void> {
    if (!this.server.listening) return;
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }

  get port(): number {
    return (this.server.address() as AddressInfo | null)?.port ?? 0;
  }

  /** Where it listens. */
  get url(): string {
    return `${this.certificates ? 'https' : 'http'}://127.0.0.1:${this.port}`;
  }

  /** What its tokens say as `iss`. */
  get iss(): string {
    return this.options.iss ?? this.url;
  }

  get jwksUrl(): string {
    return `${this.url}/jwks`;
  }

  get introspectionUrl(): string {
    return `${this.url}/introspect`;
  }

  /** The certificate of the authority behind its own. */
  get ca(): string {
    return this.certificates?.ca ?? '';
  }

  requestsTo(endpoint: Endpoint): ReceivedRequest[] {
    return this.requests.filter((request) => request.endpoint === endpoint);
  }

  /** The key of this id; a new one if there is none yet. */
  key(kid: string, { alg = 'RS256' }: { alg?: Algorithm } = {}): SigningKey {
    const key = this.keys.get(kid) ?? { alg, ...makeKeyPair(alg) };
    this.keys.set(kid, key);
    return key;
  }

  /** Publishes a new key and signs with it from now on; those before stay published. */
  rotate(options: { alg?: Algorithm } = {}): string {
    const kid = randomUUID();
    this.key(kid, options);
    return kid;
  }

  /** Takes a key from the published ones. */
  remove(kid: string): void {
    this.keys.delete(kid);
  }

  /** The key it signs with unless told otherwise: the newest one. */
  get currentKid(): string {
    return [...this.keys.keys()].at(-1) ?? this.rotate();
  }

  /** The claims it would put into a token: those given, and the usual ones. A claim that is undefined is left out. */
  claims(more: Claims = {}): Claims {
    const now = Math.floor(Date.now() / 1000);
    return { iss: this.iss, aud: this.audience, sub: 'somebody', iat: now, exp: now + HOUR_S, ...more };
  }

  /** A token as this issuer signs it; members of the header can be changed or, being undefined, left out. */
  sign(
    claims: Claims = {},
    { kid = this.currentKid, ...header }: { kid?: string; [name: string]: unknown } = {},
  ): string {
    const { alg, privateKey } = this.key(kid);
    return this.raw({
      header: { alg, typ: 'JWT', kid, ...header },
      payload: this.claims(claims),
      key: privateKey,
      alg,
    });
  }

  /** A token of any shape. */
  raw(token: RawToken): string {
    return keepSecret(makeToken(token));
  }

  /** A token that says nothing; introspection knows it as active, with these claims. */
  opaque(claims: Claims = {}): string {
    const token = keepSecret(`opaque-${randomUUID()}`);
    this.answers.set(token, { active: true, ...this.claims(claims) });
    return token;
  }

  /** What introspection says about a token, whatever its shape. */
  knows(token: string, answer: Claims): void {
    this.answers.set(keepSecret(token), answer);
  }

  misbehave(endpoint: Endpoint, how: Misbehaviour): void {
    this.behaviour.set(endpoint, how);
  }

  behave(): void {
    this.behaviour.clear();
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const endpoint = PATHS[request.url ?? ''] ?? 'other';
    const body = await text(request);
    const { authorization, accept = '*/*' } = request.headers;
    this.requests.push({ endpoint, method: request.method ?? '', authorization, body });
    if (endpoint === 'other') return send(response, 404, {});
    // As the API server of Kubernetes does.
    if (endpoint === 'jwks' && !/jwk-set\+json|\*\/\*/.test(accept)) return send(response, 406, {});
    if (endpoint !== 'discovery' && !this.admits(endpoint, authorization)) return send(response, 401, {});
    const right = this.rightAnswer(endpoint, body);
    const how = this.behaviour.get(endpoint);
    return how === undefined ? send(response, 200, right) : misbehave(response, how, right);
  }

  private admits(endpoint: Endpoint, authorization: string | undefined): boolean {
    const { bearer, client } = this.options;
    if (bearer) return authorization === `Bearer ${keepSecret(bearer())}`;
    if (endpoint !== 'introspection' || !client) return true;
    const basic = Buffer.from(`${client.id}:${client.secret}`).toString('base64');
    return authorization === `Basic ${keepSecret(basic)}`;
  }

  private rightAnswer(endpoint: Endpoint, body: string): Claims {
    if (endpoint === 'discovery')
      return {
        issuer: this.iss,
        jwks_uri: this.jwksUrl,
        introspection_endpoint: this.introspectionUrl,
        authorization_endpoint: `${this.url}/authorize`,
        token_endpoint: `${this.url}/token`,
        response_types_supported: ['code'],
      };
    if (endpoint === 'jwks')
      return {
        keys: [...this.keys].map(([kid, { alg, publicKey }]) => ({
          ...publicKey.export({ format: 'jwk' }),
          kid,
          alg,
          use: 'sig',
        })),
      };
    const token = new URLSearchParams(body).get('token');
    return this.answers.get(token ?? '') ?? { active: false };
  }
}

function send(response: ServerResponse, status: number, answer: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer));
}

async function misbehave(response: ServerResponse, how: Misbehaviour, right: Claims): Promise<void> {
  if (typeof how === 'object')
    return 'answer' in how
      ? send(response, 200, how.answer)
      : void response.writeHead(302, { Location: how.redirect }).end();
  switch (how) {
    case 'hang':
      return;
    case 'down':
      return void response.destroy();
    case 'error':
      return send(response, 500, { error: 'server_error' });
    case 'html':
      return void response.writeHead(200, { 'Content-Type': 'text/html' }).end('<h1>Please sign in</h1>');
    case 'garbage':
      return void response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"keys": [');
    case 'wrong-issuer':
      return send(response, 200, { ...right, issuer: 'https://evil.example', iss: 'https://evil.example' });
    case 'huge':
    case 'drip':
      response.writeHead(200, { 'Content-Type': 'application/json' });
      return pipeline(Readable.from(how === 'huge' ? padded(right) : drops(right)), response);
  }
}

/** Valid JSON that says the same and never seems to end. */
function* padded(answer: Claims): Generator<string> {
  const block = 'x'.repeat(100_000);
  yield `${JSON.stringify(answer).slice(0, -1)},"padding":"`;
  for (let sent = 0; sent < HUGE_BYTES; sent += block.length) yield block;
  yield '"}';
}

async function* drops(answer: Claims): AsyncGenerator<string> {
  yield JSON.stringify(answer).slice(0, -1);
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, DRIP_MS));
    yield ' ';
  }
}
