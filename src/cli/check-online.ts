import { contactProviders, inTime, nameOf, withAdvice } from '../auth/provider-contact.js';
import { ProviderUnavailable } from '../auth/provider-http.js';
import { policyFor } from '../authz/policy-in-force.js';
import { type Config, type DatabaseConfig, oauthInUse, type SourceConfig } from '../config/config.js';
import { databaseAddress, databaseStartError } from '../database/database-errors.js';
import { checkServerVersion } from '../database/open-database.js';
import { mayBePlain } from '../content/content-reference.js';
import { FetchError } from '../outbound/fetch-error.js';
import { HttpClient, OutboundError, withoutQuery } from '../outbound/http-client.js';
import { AdminFiles } from '../sources/admin-limits.js';
import { readLocalFile } from '../sync/file/local-file.js';
import { SourceFiles } from '../sync/file/source-files.js';
import { GitConnections } from '../git/git-connection.js';
import { GitRemote } from '../git/git-remote.js';
import { ClusterError } from '../sync/kubernetes/cluster-error.js';
import { API_VERSIONS, collectionOf, RESOURCES } from '../sync/kubernetes/custom-resources.js';
import { KubernetesClient } from '../sync/kubernetes/kubernetes-client.js';
import { readServerVersion } from './stored-sources.queries.js';

const CONTACT_TIMEOUT_MS = 5_000;
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
  if (!connection) return { what, isOk: true, message: 'embedded, it starts with the server' };
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

/** Contacts the hosts of sources, with the clients and credentials of a sync. */
class SourceContacts {
  private readonly http: HttpClient;
  private readonly files: SourceFiles;

  constructor(private readonly config: Config) {
    this.http = new HttpClient({ maxConnections: 8, proxy: config.proxy });
    this.files = new SourceFiles(new AdminFiles(config, policyFor(config.auth)), config.limits);
  }

  async contact(source: SourceConfig): Promise<Contact> {
    const what = `source ${source.name}`;
    const end = new AbortController();
    try {
      return { what, isOk: true, message: await inTime(this.reach(source, end.signal)) };
    } catch (error) {
      const isKnown = [FetchError, OutboundError, ClusterError, ProviderUnavailable].some(
        (kind) => error instanceof kind,
      );
      const message = isKnown ? (error as Error).message : `it failed: ${nameOf(error)}`;
      return { what, isOk: false, message: withAdvice(message, ADVICE) };
    } finally {
      end.abort();
    }
  }

  /** Contacts a host of `content.fetch.hosts`, which may answer as it likes. */
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
  }

  private async reach(source: SourceConfig, signal: AbortSignal): Promise<string> {
    switch (source.kind) {
      case 'managed':
        return 'managed, it has no host';
      case 'file': {
        const { path, url } = source.settings;
        if (url !== undefined) return this.get(url, undefined, signal);
        await readLocalFile(path ?? '', { maxBytes: this.config.limits.mebibytesPerFile * MIB });
        return path ?? '';
      }
      case 'api': {
        const { endpoint, tokenFile } = source.settings;
        const token = await this.files.token(tokenFile, declared(source));
        return this.get(`${endpoint.replace(/\/+$/, '')}/v0.1/servers?limit=1`, token, signal);
      }
      case 'git':
        return this.listRefs(source, signal);
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

  private async listRefs(source: SourceConfig<'git'>, signal: AbortSignal): Promise<string> {
    const connections = new GitConnections(this.config, this.files, undefined, this.config.proxy);
    const connection = await connections.connectionTo(declared(source));
    const remote = await GitRemote.open(connection, signal);
    try {
      await remote.remoteCommit(source.settings);
      return connection.url;
    } finally {
      await remote.close();
    }
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
