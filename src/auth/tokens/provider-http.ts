import { readFile } from 'node:fs/promises';
import { rootCertificates } from 'node:tls';
import { Agent, type Dispatcher, request } from 'undici';
import { checkLiteralAddress, publicLookup, type ResolveAll } from '../../outbound/public-lookup.js';

/** contract §8: longest wait for an answer, from name resolution to its last byte. */
const TIMEOUT_MS = 5_000;
/** contract §8. */
const MAX_ANSWER_BYTES = 1024 * 1024;
const MAX_REDIRECTS = 3;
/** Requests to one provider at a time; more would only queue behind a provider that is in trouble. */
const MAX_CONNECTIONS = 32;

/** Some providers, Kubernetes among them, refuse to send keys to whoever names the first of these only. */
const ACCEPT = 'application/json, application/jwk-set+json';

/** The provider could not be asked, or its answer is none: neither the token's fault nor ours. */
export class ProviderUnavailable extends Error {
  override readonly name = 'ProviderUnavailable';
}

export interface ProviderHttpOptions {
  /** PEM, trusted besides the usual certificates. */
  readonly caCert?: string | undefined;
  /** Its content is sent as bearer token. Read at each request: mounted tokens rotate. */
  readonly authTokenFile?: string | undefined;
  /** The URLs that were configured: the bearer token goes to their origins, and to none a provider names. */
  readonly issuerUrl?: string | undefined;
  readonly jwksUrl?: string | undefined;
  readonly introspectionUrl?: string | undefined;
  readonly allowPrivateIP: boolean;
  /** Name resolution; that of the system when absent. */
  readonly resolve?: ResolveAll;
}

/** Requests to one identity provider, within the limits of contract §8. Every failure is a ProviderUnavailable. */
export class ProviderHttp {
  private readonly agent: Agent;

  constructor(private readonly options: ProviderHttpOptions) {
    const { caCert, allowPrivateIP, resolve } = options;
    this.agent = new Agent({
      connections: MAX_CONNECTIONS,
      connect: {
        timeout: TIMEOUT_MS,
        // `ca` replaces the usual certificates, so they have to be named beside ours.
        ...(caCert === undefined ? {} : { ca: [...rootCertificates, caCert] }),
        ...(allowPrivateIP ? {} : { lookup: publicLookup(resolve) }),
      },
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
      maxResponseSize: MAX_ANSWER_BYTES,
    });
  }

  /** The JSON document at a URL. Redirects are followed within the same origin only. */
  async getJson(url: string): Promise<unknown> {
    return this.answer(url, async (signal) => {
      let target = new URL(url);
      for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
        const response = await this.send(target, {
          method: 'GET',
          headers: await this.bearer(target),
          signal,
        });
        const { location } = response.headers;
        if (response.statusCode < 300 || response.statusCode > 399 || typeof location !== 'string')
          return response;
        await response.body.dump();
        const next = new URL(location, target);
        if (next.origin !== target.origin)
          throw new ProviderUnavailable('it redirects to another origin, which is not followed');
        target = next;
      }
      throw new ProviderUnavailable('it redirects in circles');
    });
  }

  /**
   * The JSON answer to a form. No redirect is followed: the form holds a token.
   *
   * @param authorization replaces the token file's bearer token.
   */
  async postForm(url: string, form: Record<string, string>, authorization?: string): Promise<unknown> {
    return this.answer(url, async (signal) =>
      this.send(new URL(url), {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          ...(authorization === undefined ? await this.bearer(new URL(url)) : { authorization }),
        },
        body: new URLSearchParams(form).toString(),
        signal,
      }),
    );
  }

  async close(): Promise<void> {
    await this.agent.destroy();
  }

  private async send(
    url: URL,
    options: Pick<Dispatcher.RequestOptions, 'method' | 'headers' | 'body' | 'signal'>,
  ): Promise<Dispatcher.ResponseData> {
    if (!this.options.allowPrivateIP) checkLiteralAddress(url);
    const headers = { accept: ACCEPT, ...(options.headers as Record<string, string>) };
    return request(url, { ...options, headers, dispatcher: this.agent });
  }

  private async answer(
    url: string,
    ask: (signal: AbortSignal) => Promise<Dispatcher.ResponseData>,
  ): Promise<unknown> {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    try {
      const response = await ask(signal);
      if (response.statusCode !== 200) {
        // What cuts the rest off is reported as an error of the stream, which nobody else listens to.
        response.body.on('error', () => undefined).destroy();
        throw new ProviderUnavailable(`it answers with status ${response.statusCode}`);
      }
      const text = await response.body.text();
      return JSON.parse(text) as unknown;
    } catch (error) {
      const where = new URL(url);
      throw new ProviderUnavailable(
        `${where.origin}${where.pathname}: ${signal.aborted ? `no whole answer within ${TIMEOUT_MS / 1000} s` : describe(error)}`,
      );
    }
  }

  private async bearer(target: URL): Promise<Record<string, string>> {
    const { authTokenFile, issuerUrl, jwksUrl, introspectionUrl } = this.options;
    const isConfigured = [issuerUrl, jwksUrl, introspectionUrl].some(
      (url) => url !== undefined && new URL(url).origin === target.origin,
    );
    if (authTokenFile === undefined || !isConfigured) return {};
    const token = await readFile(authTokenFile, 'utf8').catch(() => {
      throw new ProviderUnavailable(`the token file ${authTokenFile} can't be read`);
    });
    if (!/^[\x21-\x7e]+$/.test(token.trim()))
      throw new ProviderUnavailable(`the token file ${authTokenFile} holds no bearer token`);
    return { authorization: `Bearer ${token.trim()}` };
  }
}

// Never the message of a parser: it quotes what it could not parse, and that may be anything.
function describe(error: unknown): string {
  if (error instanceof SyntaxError) return 'the answer is not JSON';
  if (!(error instanceof Error)) return 'the request failed';
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return 'the answer is larger than 1 MiB';
  return error.message === '' ? (code ?? 'the request failed') : error.message;
}
