import type { ProxyConfig } from '../outbound/dispatcher.js';
import type { LogFormat } from './config-file.dto.js';
import type { RegistryConfig, SourceConfig } from './declared-resources.js';
import type { Address } from './environment.js';
import type { resolveConfig } from './resolve-config.js';
import type { TelemetryConfig } from './telemetry-config.js';

export type * from './declared-resources.js';
export type { LogFormat };

/** Command-line options. Omitted options have defaults. */
export interface Flags {
  /** `HOST:PORT` for the API; default `:8080`. */
  readonly address?: string;
  /** `HOST:PORT` for health, readiness and version; default `:8081`. */
  readonly internalAddress?: string;
  /** Overrides `auth.mode`. */
  readonly authMode?: string;
}

/**
 * The validated configuration from file, environment and flags, with defaults. It is deeply frozen, and paths are
 * absolute. The classes of the configuration file describe its settings (`config-file.dto.ts`); `resolve-config.ts`
 * converts some.
 */
export interface Config extends Settings {
  readonly sources: readonly SourceConfig[];
  /** The registries in the order of the file. */
  readonly registries: readonly RegistryConfig[];
  readonly dataDirectory: string;
  /** kubeconfig files from REGISTRY_KUBECONFIG or KUBECONFIG; if empty, see Cluster. */
  readonly kubeconfig: readonly string[];
  readonly telemetry: TelemetryConfig;
  readonly addresses: { readonly public: Address; readonly internal: Address };
  /** REGISTRY_INSECURE_URLS: allows providers without TLS. */
  readonly insecureUrls: boolean;
  /** Proxies for outbound requests, from HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */
  readonly proxy: ProxyConfig;
}

type Settings = Omit<ReturnType<typeof resolveConfig>, 'sources' | 'registries'>;

export type AdminFileRoot = Config['adminFileRoots'][number];
export type AuthConfig = Config['auth'];
export type OAuthConfig = NonNullable<AuthConfig['oauth']>;
export type ProviderConfig = OAuthConfig['providers'][number];
export type AuthzConfig = NonNullable<AuthConfig['authz']>;
export type WebhookConfig = Config['webhooks'][number];
export type WebhookView = NonNullable<WebhookConfig['as']>;
export type AdmissionWebhookConfig = Config['admission']['webhooks'][number];
export type LimitsConfig = Config['limits'];
/** Has the member names of node-postgres. */
export type DatabaseConfig = NonNullable<Config['database']>;

/**
 * Returns the OAuth settings in effect; undefined in `anonymous` mode, which ignores them.
 *
 * @throws Error when `oauth` mode has no settings, because the server must never fall back to `anonymous` mode.
 */
export function oauthInUse({ mode, oauth }: AuthConfig): OAuthConfig | undefined {
  if (mode === 'anonymous') return undefined;
  if (!oauth) throw new Error('oauth mode has no settings: validation is broken');
  return oauth;
}

/** Where a source or registry was declared: in the configuration file or through the admin API. */
export type Origin = 'config' | 'api';
