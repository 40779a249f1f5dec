import { randomUUID } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { proxyOf, readEnvironment } from '../config/environment.js';
import { HttpClient, OutboundError } from '../outbound/http-client.js';
import { parseHttpUrl } from '../validation/urls.js';

export interface ClientConfigOptions {
  /** The base URL of a registry, as configured in MCP Registry clients. */
  readonly url: string;
  readonly client: string;
  readonly form?: string;
  readonly tokenFile?: string;
  /** Output file; standard output by default. */
  readonly output?: string;
}

/** Large enough for any registry: the server limits neither the number nor the size of the entries. */
const TIMEOUT_MS = 600_000;
const MAX_BYTES = 1_024 * 1_024 * 1_024;

/** Fetches the client configuration from a registry. Returns exit code 0, or 1 with the reason on standard error. */
export async function clientConfig(options: ClientConfigOptions): Promise<number> {
  const base = parseHttpUrl(options.url);
  if (!base)
    return failed(
      '--url must be the http:// or https:// URL of a registry, such as https://registry.example.com/registry/default',
    );
  const { proxy, issues } = proxyOf(readEnvironment());
  if (issues.length > 0)
    return failed(issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '));
  const http = new HttpClient({ maxConnections: 1, proxy });
  try {
    const query = new URLSearchParams({ client: options.client, form: options.form ?? 'servers' });
    const url = `${base.href.replace(/\/+$/, '')}/v0.1/x/client-config?${query.toString()}`;
    const { status, bytes, headers } = await http.get(url, {
      ...(options.tokenFile === undefined
        ? {}
        : { authorization: `Bearer ${readFileSync(options.tokenFile, 'utf8').trim()}` }),
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
      allowPrivate: true,
      redirects: 'same-origin',
    });
    if (status !== 200) return failed(`the registry returned status ${status}${HINTS[status] ?? ''}`);
    write(options.output, bytes);
    const omitted = Number(headers['x-omitted-count'] ?? 0);
    if (omitted > 0)
      process.stderr.write(
        `${omitted} server(s) cannot be expressed for ${options.client}: see x-omitted in the file\n`,
      );
    return 0;
  } catch (error) {
    if (error instanceof OutboundError) return failed(error.message);
    const { code, path } = error as NodeJS.ErrnoException;
    return failed(code === undefined ? 'unexpected error' : `${path ?? options.output ?? ''}: ${code}`);
  } finally {
    await http.close();
  }
}

const HINTS: Readonly<Record<number, string>> = {
  400: ': check --client and --form, which depends on the client',
  401: ': it requires a token, see --token-file',
  403: ": you don't have access",
  404: ': this registry does not exist',
};

// Replaces the file atomically, because a client may read it at any time.
function write(output: string | undefined, bytes: Buffer): void {
  if (output === undefined) {
    process.stdout.write(bytes);
    return;
  }
  const temporary = `${output}.${randomUUID()}`;
  writeFileSync(temporary, bytes);
  renameSync(temporary, output);
}

function failed(reason: string): number {
  process.stderr.write(`client-config: ${reason}\n`);
  return 1;
}
