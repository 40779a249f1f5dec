import { readFile, stat } from 'node:fs/promises';
import type { ProxyConfig } from '../outbound/dispatcher.js';
import { HttpClient, OutboundError, type OutboundRequest } from '../outbound/http-client.js';
import { type ResolveAll, resolveHere } from '../outbound/name-resolution.js';
import { withoutQuery } from '../validation/redaction.js';

/** reference/authentication: request timeout. */
const TIMEOUT_MS = 5_000;
/** Maximum response size for discovery and keys (reference/authentication). */
const MAX_ANSWER_BYTES = 1024 * 1024;
/**
 * Maximum response size for introspection and groups (reference/authentication): in memory, a response may take a
 * multiple.
 */
export const MAX_TOKEN_ANSWER_BYTES = 64 * 1024;
const MAX_TOKEN_BYTES = 1024 * 1024;
/**
 * Maximum connections to one provider: the number that ProviderLimits allows for introspection and groups, plus a few
 * for keys. With fewer connections, lookups of valid tokens would wait behind lookups of forged tokens.
 */
const MAX_CONNECTIONS = 520;

/** Some providers, such as Kubernetes, do not send keys to clients that accept only application/json. */
const ACCEPT = 'application/json, application/jwk-set+json';

/** The provider sent no usable response. Implies nothing about the token. */
export class ProviderUnavailable extends Error {
  override readonly name = 'ProviderUnavailable';

  /**
   * @param status The unexpected HTTP status, if that was the problem.
   * @param answered Whether the provider sent any response.
   */
  constructor(
    message: string,
    readonly status: number | null = null,
    readonly answered = true,
  ) {
    super(message);
  }
}

export interface ProviderHttpOptions {
  /** PEM; trusted in addition to Node's certificate authorities. */
  readonly caCert?: string | undefined;
  /** File that contains the bearer token for requests; read on every request, because mounted tokens rotate. */
  readonly authTokenFile?: string | undefined;
  /** The bearer token is sent only to the origins of these configured URLs, never to discovered ones. */
  readonly issuerUrl?: string | undefined;
  readonly jwksUrl?: string | undefined;
  readonly introspectionUrl?: string | undefined;
  readonly allowPrivateIP: boolean;
  /** Default: the system's resolver. */
  readonly resolve?: ResolveAll;
  /** Default: no proxy. */
  readonly proxy?: ProxyConfig;
}

/** HTTP client for one identity provider, with the limits of reference/authentication. All failures are ProviderUnavailable. */
export class ProviderHttp {
  private readonly http: HttpClient;

  constructor(private readonly options: ProviderHttpOptions) {
    const { caCert, resolve = resolveHere, proxy } = options;
    this.http = new HttpClient({
      maxConnections: MAX_CONNECTIONS,
      connectTimeoutMs: TIMEOUT_MS,
      ...(caCert === undefined ? {} : { caCert }),
      resolve,
      ...(proxy === undefined ? {} : { proxy }),
    });
  }

  /**
   * Fetches a JSON document. Follows redirects only within the same origin.
   *
   * @param authorization Replaces the token file's bearer token.
   */
  async getJson(url: string, authorization?: string, maxBytes = MAX_ANSWER_BYTES): Promise<unknown> {
    const request = this.request(authorization ?? (await this.bearer(url)), maxBytes);
    return this.http.getJson(url, { ...request, redirects: 'same-origin' }).catch(rethrow);
  }

  /**
   * Posts a form about a token and returns the JSON response. Does not follow redirects, because the form contains a token.
   *
   * @param authorization Replaces the token file's bearer token.
   */
  async postForm(url: string, form: Record<string, string>, authorization?: string): Promise<unknown> {
    const request = this.request(authorization ?? (await this.bearer(url)), MAX_TOKEN_ANSWER_BYTES);
    return this.http.postForm(url, form, request).catch(rethrow);
  }

  async close(): Promise<void> {
    await this.http.close();
  }

  private request(authorization: string | undefined, maxBytes: number): OutboundRequest {
    return {
      headers: { accept: ACCEPT },
      ...(authorization === undefined ? {} : { authorization }),
      timeoutMs: TIMEOUT_MS,
      maxBytes,
      allowPrivate: this.options.allowPrivateIP,
    };
  }

  private async bearer(url: string): Promise<string | undefined> {
    const { authTokenFile, issuerUrl, jwksUrl, introspectionUrl } = this.options;
    const { origin } = new URL(url);
    const isConfigured = [issuerUrl, jwksUrl, introspectionUrl].some(
      (configured) => configured !== undefined && new URL(configured).origin === origin,
    );
    if (authTokenFile === undefined || !isConfigured) return undefined;
    const failure = (problem: string) =>
      new ProviderUnavailable(
        `${withoutQuery(url)}: the token file ${authTokenFile} ${problem}`,
        null,
        false,
      );
    const content = await readToken(authTokenFile).catch(() => {
      throw failure("can't be read");
    });
    if (!/^[\x21-\x7e]+$/.test(content.trim())) throw failure('contains no bearer token');
    return `Bearer ${content.trim()}`;
  }
}

// Refuses anything but a regular file: reading a named pipe could block forever.
async function readToken(file: string): Promise<string> {
  const stats = await stat(file);
  if (!stats.isFile() || stats.size > MAX_TOKEN_BYTES) throw new Error('not a token file');
  return readFile(file, 'utf8');
}

function rethrow(error: unknown): never {
  throw error instanceof OutboundError
    ? new ProviderUnavailable(error.message, error.status, error.answered)
    : error;
}
