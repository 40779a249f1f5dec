import { readFile, stat } from 'node:fs/promises';
import type { ProxyConfig } from '../config/config.js';
import { HttpClient, OutboundError, type OutboundRequest, withoutQuery } from '../outbound/http-client.js';
import type { ResolveAll } from '../outbound/private-address.js';

/** contract §8: longest time for an answer. */
const TIMEOUT_MS = 5_000;
/** contract §8. */
const MAX_ANSWER_BYTES = 1024 * 1024;
const MAX_TOKEN_BYTES = 1024 * 1024;
/**
 * Requests to one provider at a time: as many as ProviderLimits allows for introspection and for groups, and a few for its
 * keys. With fewer, a question about a good token would wait behind those about made-up ones.
 */
const MAX_CONNECTIONS = 520;

/** Some providers, Kubernetes among them, send no keys to clients that accept the first of these only. */
const ACCEPT = 'application/json, application/jwk-set+json';

/** The provider gave no usable answer: neither the token's fault nor ours. */
export class ProviderUnavailable extends Error {
  override readonly name = 'ProviderUnavailable';

  /**
   * @param status of the answer, when that is what is wrong with it.
   * @param answered did it answer at all?
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
  /** PEM, trusted besides the usual certificates. */
  readonly caCert?: string | undefined;
  /** Its content is sent as bearer token. Read at each request: mounted tokens rotate. */
  readonly authTokenFile?: string | undefined;
  /** The URLs that were configured: the bearer token goes to their origins, and to none that a provider names. */
  readonly issuerUrl?: string | undefined;
  readonly jwksUrl?: string | undefined;
  readonly introspectionUrl?: string | undefined;
  readonly allowPrivateIP: boolean;
  /** Name resolution; that of the system when absent. */
  readonly resolve?: ResolveAll;
  /** Absent: it is asked directly. */
  readonly proxy?: ProxyConfig;
}

/** Requests to one identity provider, within the limits of contract §8. Every failure is a ProviderUnavailable. */
export class ProviderHttp {
  private readonly http: HttpClient;

  constructor(private readonly options: ProviderHttpOptions) {
    const { caCert, resolve, proxy } = options;
    this.http = new HttpClient({
      maxConnections: MAX_CONNECTIONS,
      connectTimeoutMs: TIMEOUT_MS,
      ...(caCert === undefined ? {} : { caCert }),
      ...(resolve === undefined ? {} : { resolve }),
      ...(proxy === undefined ? {} : { proxy }),
    });
  }

  /**
   * The JSON document at a URL. Redirects are followed within the same origin only.
   *
   * @param authorization replaces the token file's bearer token.
   */
  async getJson(url: string, authorization?: string): Promise<unknown> {
    const request = this.request(authorization ?? (await this.bearer(url)));
    return this.http.getJson(url, { ...request, redirects: 'same-origin' }).catch(rethrow);
  }

  /**
   * The JSON answer to a form. No redirect is followed: the form holds a token.
   *
   * @param authorization replaces the token file's bearer token.
   */
  async postForm(url: string, form: Record<string, string>, authorization?: string): Promise<unknown> {
    const request = this.request(authorization ?? (await this.bearer(url)));
    return this.http.postForm(url, form, request).catch(rethrow);
  }

  async close(): Promise<void> {
    await this.http.close();
  }

  private request(authorization: string | undefined): OutboundRequest {
    return {
      headers: { accept: ACCEPT },
      ...(authorization === undefined ? {} : { authorization }),
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_ANSWER_BYTES,
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
    if (!/^[\x21-\x7e]+$/.test(content.trim())) throw failure('holds no bearer token');
    return `Bearer ${content.trim()}`;
  }
}

// A pipe would keep the caller waiting for ever.
async function readToken(file: string): Promise<string> {
  const stats = await stat(file);
  if (!stats.isFile() || stats.size > MAX_TOKEN_BYTES) throw new Error('no file that holds a token');
  return readFile(file, 'utf8');
}

function rethrow(error: unknown): never {
  throw error instanceof OutboundError
    ? new ProviderUnavailable(error.message, error.status, error.answered)
    : error;
}
