import type { Claims } from '../claims/claims.js';
import type { DatabaseTls } from '../database/tls.js';
import type { ProxyConfig } from '../outbound/dispatcher.js';
import type { AdmissionSettings } from '../source-kinds/admission-settings.dto.js';
import type { SettingsOf, SourceKind } from '../source-kinds/kinds.js';
import type { Plain } from '../source-kinds/settings-table.js';
import type { StoredSourceSettings } from '../source-kinds/source-settings.dto.js';
import type { ClaimRule, GroupsLocation, IdTokenUse, IntrospectionUse } from './auth-settings.dto.js';
import type { LogFormat, LogLevel } from './config-file.dto.js';
import type { Address } from './environment.js';
import type { MarketplaceSettings, StoredRegistrySettings } from './registry-settings.dto.js';
import type { TelemetryConfig } from './telemetry-config.js';
import type { WebConfig } from './web-config.js';

export type { LogFormat, LogLevel };

/** Command-line options. Omitted options have defaults. */
export interface Flags {
  /** `HOST:PORT` for the API; default `:8080`. */
  readonly address?: string;
  /** `HOST:PORT` for health, readiness and version; default `:8081`. */
  readonly internalAddress?: string;
  /** Overrides `auth.mode`. */
  readonly authMode?: string;
}

export type AuthMode = 'oauth' | 'anonymous';
export type RoleName = 'superAdmin' | 'manageSources' | 'manageRegistries' | 'manageEntries';

/**
 * The validated configuration from file, environment and flags, with defaults. It is deeply frozen, and paths are
 * absolute.
 */
export interface Config {
  readonly auth: AuthConfig;
  readonly sources: readonly SourceConfig[];
  /** In file order. */
  readonly registries: readonly RegistryConfig[];
  /** The registry that is also served at `/v0.1` and `/v0`; null: none. */
  readonly rootRegistry: string | null;
  /** Null: embedded PostgreSQL under `dataDirectory`. */
  readonly database: DatabaseConfig | null;
  readonly cors: { readonly origins: readonly string[] };
  /** Words that searches treat as equal. */
  readonly search: { readonly synonyms: readonly (readonly string[])[] };
  /** Whether the API refuses all changes. Sources in the file are still synced. */
  readonly readOnly: boolean;
  /** Directories from which sources created through the API may read files. */
  readonly adminFileRoots: readonly AdminFileRoot[];
  /** Namespaces for Kubernetes sources created through the API; empty: no such sources. */
  readonly adminKubernetesNamespaces: readonly string[];
  /** Whether sources created through the API may be fetched from private addresses. */
  readonly adminAllowPrivateIP: boolean;
  /** Whether registries created through the API may have `anonymous` and `keys`. */
  readonly adminOpenAccess: boolean;
  readonly dataDirectory: string;
  /** kubeconfig files from REGISTRY_KUBECONFIG or KUBECONFIG. Empty: see Cluster. */
  readonly kubeconfig: readonly string[];
  /** A null `format` means text on a terminal, otherwise JSON. */
  readonly log: { readonly level: LogLevel; readonly format: LogFormat | null };
  readonly telemetry: TelemetryConfig;
  readonly audit: AuditConfig;
  readonly webhooks: readonly WebhookConfig[];
  readonly admission: { readonly webhooks: readonly AdmissionWebhookConfig[] };
  readonly limits: LimitsConfig;
  readonly content: ContentConfig;
  readonly shutdown: ShutdownConfig;
  readonly web: WebConfig;
  readonly addresses: { readonly public: Address; readonly internal: Address };
  /** REGISTRY_INSECURE_URLS: allows providers without TLS. */
  readonly insecureUrls: boolean;
  /** Proxies for outbound requests, from HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */
  readonly proxy: ProxyConfig;
}

/** A directory with files and secrets for sources created through the API (reference/configuration, reference/sources). */
export interface AdminFileRoot {
  readonly path: string;
  /** Claims that the caller and the source must cover. */
  readonly claims: Claims;
  /** Hosts that may receive secrets from this directory; null: any. */
  readonly hosts: readonly string[] | null;
}

export interface AuthConfig {
  readonly mode: AuthMode;
  /** Required in `oauth` mode; ignored in `anonymous` mode. */
  readonly oauth?: OAuthConfig;
  /** Absent: auth-only mode. */
  readonly authz?: AuthzConfig;
}

export interface OAuthConfig {
  readonly resourceUrl: string;
  readonly realm: string;
  readonly scopesSupported: readonly string[];
  readonly publicPaths: readonly string[];
  readonly resourceDocumentation?: string;
  readonly providers: readonly ProviderConfig[];
  /** Callers who are refused whatever their token says; without an issuer, of every provider. */
  readonly blocked: readonly { readonly issuer?: string; readonly subject: string }[];
}

export interface ProviderConfig {
  readonly name: string;
  readonly issuerUrl: string;
  readonly audience: string;
  readonly jwksUrl?: string;
  readonly introspectionUrl?: string;
  readonly clientId?: string;
  /** The content of `clientSecretFile`, read at startup. */
  readonly clientSecret?: string;
  /** The content of `caCertPath`, read at startup: PEM. */
  readonly caCert?: string;
  /** A path, because the file is read again for each request (reference/authentication). */
  readonly authTokenFile?: string;
  readonly allowPrivateIP: boolean;
  /** Claim mapping; absent: all claims stay unchanged. */
  readonly claims?: readonly ClaimRule[];
  /** A claim whose value names the caller to people; absent: nobody has a name. */
  readonly displayName?: string;
  /** Whether to introspect only tokens that no JWT check accepts, or every token. */
  readonly introspection: IntrospectionUse;
  /** How the provider's opaque tokens begin; absent: it is asked about tokens that begin like no other provider's. */
  readonly tokenPrefix?: string;
  /** Whether tokens that look like ID tokens are refused. */
  readonly idTokens: IdTokenUse;
  /** Tolerance for `exp` and `nbf`. */
  readonly clockToleranceMs: number;
  /** Where to fetch groups that a token omits; absent: such tokens are refused. */
  readonly groups?: GroupsLocation;
  /** Origins the web UI may connect to for the log-in, in addition to the issuer. */
  readonly connectOrigins: readonly string[];
}

export interface AuthzConfig {
  /** The claims maps that grant each role. A role with an empty list is granted to nobody. */
  readonly roles: Readonly<Record<RoleName, readonly Claims[]>>;
  readonly policy: {
    readonly arrayValues: 'all' | 'any';
    readonly unlabeled: 'allow' | 'deny';
    readonly registryListing: 'managers' | 'readers';
  };
}

/** A declared source; `kind` determines the type of `settings`. */
export type SourceConfig<K extends SourceKind = SourceKind> = {
  [P in K]: StoredSourceSettings & {
    readonly name: string;
    readonly kind: P;
    readonly settings: SettingsOf<P>;
    readonly claims: Claims;
  };
}[K];

/** What may come in from a source. */
export type AdmissionConfig = Plain<AdmissionSettings>;

export interface RegistryConfig extends StoredRegistrySettings {
  readonly name: string;
  readonly sources: readonly string[];
  readonly claims: Claims;
}

/** How a registry appears to clients that install plugins (reference/marketplace). */
export type MarketplaceConfig = Plain<MarketplaceSettings>;

/** The audit trail (reference/audit), which always records changes and refusals. */
export interface AuditConfig {
  /** Whether reads through the consumer API are recorded too. */
  readonly reads: boolean;
  /** Age at which events are deleted. */
  readonly retentionMs: number;
}

/** A receiver of audit events (reference/webhooks). */
export interface WebhookConfig {
  readonly name: string;
  /** Secret. */
  readonly url: string;
  /** `whsec_` and base64; each delivery is signed with each of them. */
  readonly secrets: readonly string[];
  /** As configured; null: all actions. */
  readonly actions: readonly string[] | null;
  readonly retryForMs: number;
  /** The view that the webhook follows; null: it receives all events. */
  readonly as: WebhookView | null;
}

/** A service that is asked what may come in (reference/admission). */
export interface AdmissionWebhookConfig {
  readonly name: string;
  /** Secret. */
  readonly url: string;
  /** `whsec_` and base64; each request is signed with each of them. */
  readonly secrets: readonly string[];
  readonly on: readonly ('publish' | 'sync')[];
  readonly timeoutMs: number;
  /** The outcome when it does not answer as it should. */
  readonly onFailure: 'hold' | 'reject' | 'admit';
}

export interface WebhookView {
  readonly claims: Claims;
  /** Null: every registry whose gate the claims pass. */
  readonly registry: string | null;
}

/** Limits per replica. A request over a limit waits or is refused with `Retry-After`. */
export interface LimitsConfig {
  /** Concurrent searches per caller. */
  readonly searchesPerCaller: number;
  /** Concurrent requests from all callers. */
  readonly requestsInFlight: number;
  /** Open connections from all clients. */
  readonly connections: number;
  /** Claim sets per source. */
  readonly claimSetsPerSource: number;
  /** Maximum size of a registry file. */
  readonly mebibytesPerFile: number;
  /** Stored versions of one entry, deleted ones included. */
  readonly versionsPerEntry: number;
  /** Bytes of the stored documents of one entry. */
  readonly bytesPerEntry: number;
  /** Bytes of the publisher's block in `_meta` of one document. */
  readonly publisherMeta: number;
  /** Sources created through the API. */
  readonly apiSources: number;
  /** Registries created through the API. */
  readonly apiRegistries: number;
  /** Requests of one caller that changed something, per minute. */
  readonly changesPerMinute: number;
  /** Size of the index of the ranked search. */
  readonly searchIndexBytes: number;
  /** How long an idle connection stays open. */
  readonly keepAliveMs: number;
}

/** Files of skills and plugins (reference/marketplace). */
export interface ContentConfig {
  /** Hosts from which content may be fetched, with a port where one was given: `host` or `host:port`. */
  readonly fetchHosts: readonly string[];
  /** Bytes of the unpacked files of one version. */
  readonly maxBytesPerVersion: number;
  /** Bytes of all stored files; equal ones count once. */
  readonly maxBytes: number;
}

export interface ShutdownConfig {
  /** How long new requests are accepted after the stop signal; null: not configured. */
  readonly noticeMs: number | null;
}

/** Members are named as in node-postgres. */
export interface DatabaseConfig {
  /** A host or the directory of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  /** Absent: read from PGPASSFILE or ~/.pgpass. */
  readonly password?: string;
  readonly tls?: DatabaseTls;
  readonly poolMax: number;
  /** The database role for migrations, if separate. */
  readonly migration?: { readonly user: string; readonly password?: string };
}

/** Deeply freezes plain data in place. */
export function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const member of Object.values(value)) freeze(member);
  return Object.freeze(value);
}

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
