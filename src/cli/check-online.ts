import { contactProviders, inTime, nameOf, withAdvice } from '../auth/provider-check.js';
import { ProviderUnavailable } from '../auth/provider-http.js';
import { policyFor } from '../authz/policy-in-force.js';
import { type Config, type DatabaseConfig, oauthInUse, type SourceConfig } from '../config/config.js';
import { databaseAddress, databaseStartError } from '../database/database-errors.js';
import { checkServerVersion } from '../database/open-database.js';
import { mayBePlain } from '../content/content-reference.js';
import { FetchError } from '../outbound/fetch-error.js';
import { HttpClient, OutboundError } from '../outbound/http-client.js';
import { AdminFiles } from '../sources/admin-limits.js';
import { Fetchers } from '../sync/fetchers.js';
import { FileFetcher } from '../sync/file/file.fetcher.js';
import { SourceFiles } from '../sync/file/source-files.js';
import { FormatError } from '../sync/formats/source-content.js';
import { ContentRepositories } from '../content/content-repositories.js';
import { FormatReaders } from '../sync/formats/format-readers.js';
import { GitFetcher } from '../sync/git/git.fetcher.js';
import { ClusterError } from '../sync/kubernetes/cluster-error.js';
import { API_VERSIONS, collectionOf, RESOURCES } from '../sync/kubernetes/custom-resources.js';
import { KubernetesClient } from '../sync/kubernetes/kubernetes-client.js';
import { ReadMemory, ReadMemoryError, readMemoryFor } from '../sync/read-memory.js';
import { readOnce, unsavedSource } from '../sync/read-source.js';
import { ApiFetcher } from '../sync/registry-api/api.fetcher.js';
import { SourceReader } from '../sync/source-reader.js';
import { withoutQuery } from '../validation/redaction.js';
import { readServerVersion } from './stored-sources.queries.js';

const CONTACT_TIMEOUT_MS = 5_000;
/** Longer, because files and repositories are read. */
const READ_TIMEOUT_MS = 20_000;
/** Skipped entries shown per source. */
const MAX_PROBLEMS = 3;
const MIB = 1024 * 1024;

const ADVICE = [
  [/certificate|issuer cert|self-signed/i, 'add its authority to NODE_EXTRA_CA_CERTS'],
  [/status 40[13]/, 'check the token or password of the source'],
  [/status 404/, 'check the address'],
  [
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|within|not respond/i,
    'check the host, the network and the proxy settings',
  ],
] as const;

interface Contact {
  readonly what: string;
  readonly isOk: boolean;
  readonly message: string;
}

/**
 * Contacts the identity providers, the database and the sources, and prints a line for each (reference/commands). Returns exit
 * code 1 if one of them fails.
 */
export async function checkOnline(config: Config): Promise<number> {
  const contacts = new SourceContacts(config);
  try {
    const results = await Promise.all([
      contactProviders(oauthInUse(config.auth)?.providers ?? [], config).then((all) =>
        all.map(({ provider, ...result }): Contact => ({ what: `provider ${provider}`, ...result })),
      ),
      contactDatabase(config.database),
      ...config.sources.map((source) => contacts.contact(source)),
      ...config.content.fetchHosts.map((host) => contacts.contactHost(host, config)),
    ]);
    for (const { what, isOk, message } of results.flat())
      process.stdout.write(`${what}: ${isOk ? 'ok' : 'FAILED'} (${message})\n`);
    return results.flat().every(({ isOk }) => isOk) ? 0 : 1;
  } finally {
    await contacts.close();
  }
}

async function contactDatabase(connection: DatabaseConfig | null): Promise<Contact> {
  const what = 'database';
  if (!connection) return { what, isOk: true, message: 'embedded; it starts with the server' };
  try {
    checkServerVersion(await inTime(readServerVersion(connection)), connection);
    return { what, isOk: true, message: databaseAddress(connection) };
  } catch (error) {
    const { message } = databaseStartError(error, connection) ?? {
      message: `${databaseAddress(connection)} did not respond; check database.host and the network`,
    };
    return { what, isOk: false, message };
  }
}

/** Contacts the hosts of sources, with the clients and credentials that a sync uses. */
class SourceContacts {
  private readonly http: HttpClient;
  private readonly files: SourceFiles;
  private readonly reader = new SourceReader();
  readonly formats: FormatReaders;
  readonly fetchers: Fetchers;

  constructor(private readonly config: Config) {
    this.http = new HttpClient({ maxConnections: 8, proxy: config.proxy });
    const { content, insecureUrls, proxy } = config;
    this.formats = new FormatReaders(
      this.reader,
      new ContentRepositories({ ...content, insecureUrls, proxy }),
    );
    this.files = new SourceFiles(new AdminFiles(config, policyFor(config.auth)), config.limits);
    this.fetchers = new Fetchers(
      new FileFetcher(this.http, this.files, config, config.limits),
      new GitFetcher(config, this.files, config.limits, config),
      new ApiFetcher(this.http, this.files, this.reader, config),
    );
  }

  async contact(source: SourceConfig): Promise<Contact> {
    const what = `source ${source.name}`;
    const end = new AbortController();
    const maxMs = source.kind === 'file' || source.kind === 'git' ? READ_TIMEOUT_MS : CONTACT_TIMEOUT_MS;
    try {
      return { what, isOk: true, message: await inTime(this.reach(source, end.signal), maxMs) };
    } catch (error) {
      const isKnown = [
        FetchError,
        FormatError,
        ReadMemoryError,
        OutboundError,
        ClusterError,
        ProviderUnavailable,
      ].some((kind) => error instanceof kind);
      const message = isKnown ? (error as Error).message : `it failed: ${nameOf(error)}`;
      return { what, isOk: false, message: withAdvice(message, ADVICE) };
    } finally {
      end.abort();
    }
  }

  /** Contacts a host of `content.fetch.hosts`; any response counts as success. */
  async contactHost(host: string, rules: Pick<Config, 'insecureUrls'>): Promise<Contact> {
    const what = `content host ${host}`;
    const schemes = mayBePlain(host, rules) ? ['https', 'http'] : ['https'];
    let message = '';
    for (const scheme of schemes)
      try {
        const options = { timeoutMs: CONTACT_TIMEOUT_MS, maxBytes: MIB, allowPrivate: true };
        const url = `${scheme}://${host}/`;
        await this.http.get(url, { ...options, redirects: 'same-origin' }).catch((error: unknown) => {
          if (!(error instanceof OutboundError && error.answered)) throw error;
        });
        return { what, isOk: true, message: url };
      } catch (error) {
        message = error instanceof OutboundError ? error.message : `it failed: ${nameOf(error)}`;
      }
    return { what, isOk: false, message: withAdvice(message, ADVICE) };
  }

  async close(): Promise<void> {
    await this.http.close();
    await this.reader.onApplicationShutdown();
  }

  private async reach(source: SourceConfig, signal: AbortSignal): Promise<string> {
    switch (source.kind) {
      case 'managed':
        return 'managed; it has no host';
      case 'file': {
        const { path = '', url } = source.settings;
        return `${url === undefined ? path : withoutQuery(url)}: ${await this.read(source, signal)}`;
      }
      case 'api': {
        const { endpoint, tokenFile } = source.settings;
        const token = await this.files.token(tokenFile, declared(source));
        return this.get(`${endpoint.replace(/\/+$/, '')}/v0.1/servers?limit=1`, token, signal);
      }
      case 'git':
        return `${source.settings.repository}: ${await this.read(source, signal)}`;
      case 'kubernetes': {
        await this.listObjects(source.settings.namespaces ?? [null], signal);
        return 'the cluster';
      }
    }
  }

  // A kind that is not installed has no objects.
  private async listObjects(namespaces: readonly (string | null)[], signal: AbortSignal): Promise<void> {
    const client = new KubernetesClient({ kubeconfig: this.config.kubeconfig });
    const collections = namespaces.flatMap((namespace) =>
      RESOURCES.map((resource) => collectionOf(resource, namespace, API_VERSIONS[0])),
    );
    for (const collection of collections)
      await client.list(collection, 1, '', signal).catch((error: unknown) => {
        if (!(error instanceof ClusterError && error.status === 404)) throw error;
      });
  }

  /** Reads a whole source and describes its content. */
  private async read(source: SourceConfig<'file' | 'git'>, signal: AbortSignal): Promise<string> {
    const memory = new ReadMemory(readMemoryFor(this.config.limits.mebibytesPerFile)).begin();
    const unsaved = unsavedSource(source, 'config');
    const { content, format } = await readOnce(this, unsaved, signal, memory);
    const { entries, skipped, unlisted = 0 } = content;
    const problems = skipped
      .slice(0, MAX_PROBLEMS)
      .map(({ name, version, reasons }) => [name, version, `(${reasons[0]})`].filter(Boolean).join(' '));
    return [
      `${format}, ${entries.length} ${entries.length === 1 ? 'entry' : 'entries'}`,
      ...(problems.length > 0 ? [`${skipped.length + unlisted} skipped: ${problems.join('; ')}`] : []),
    ].join(', ');
  }

  // Stops reading as soon as the response begins.
  private async get(url: string, token: string | undefined, signal: AbortSignal): Promise<string> {
    let hasBegun = false;
    const response = await this.http
      .get(url, {
        headers: { accept: 'application/json, */*;q=0.5' },
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        timeoutMs: CONTACT_TIMEOUT_MS,
        maxBytes: MIB,
        onBytes: () => (hasBegun = true),
        allowPrivate: true,
        redirects: 'any-origin',
        signal,
      })
      .catch((error: unknown) => {
        if (hasBegun) return { status: 200 };
        throw error;
      });
    if (response.status === 200) return withoutQuery(url);
    throw new OutboundError(url, `it responded with status ${response.status}`, { status: response.status });
  }
}

/** A source as declared in the configuration, which may name any file. */
function declared<S extends SourceConfig>(source: S): S & { readonly origin: 'config' } {
  return { ...source, origin: 'config' };
}
