import type { Claims } from '../claims/claims.js';
import type { SettingsOf, SourceKind } from '../source-kinds/kinds.js';
import type { ClaimRule, GroupsLocation } from './auth-settings.dto.js';
import type { LogFormat, LogLevel } from './config-file.dto.js';
import type { DatabaseTls } from './database-settings.js';
import type { Address } from './environment.js';
import type { RegistryKey } from './registry-keys.js';
import type { TelemetryConfig } from './telemetry-config.js';
import type { WebConfig } from './web-config.js';

export type { LogFormat, LogLevel };

/** Options of the command line; those that are absent have their defaults. */
export interface Flags {
  /** `HOST:PORT` of the API; `:8080`. */
  readonly address?: string;
  /** `HOST:PORT` of health, readiness and version; `:8081`. */
  readonly internalAddress?: string;
  /** Overrides `auth.mode`. */
  readonly authMode?: string;
}

export type AuthMode = 'oauth' | 'anonymous';
export type RoleName = 'superAdmin' | 'manageSources' | 'manageRegistries' | 'manageEntries';

/** File, environment and flags, validated, complete with defaults, and deeply frozen. Paths are absolute. */
export interface Config {
  readonly auth: AuthConfig;
  readonly sources: readonly SourceConfig[];
  /** In the order of the file. */
  readonly registries: readonly RegistryConfig[];
  /** The registry that also answers at `/v0.1` and `/v0`; null: none. */
  readonly rootRegistry: string | null;
  /** Null: an embedded PostgreSQL under `dataDirectory`. */
  readonly database: DatabaseConfig | null;
  readonly cors: { readonly origins: readonly string[] };
  /** Is every route that changes something refused? Sources of the file are synced all the same. */
  readonly readOnly: boolean;
  /** Where sources made through the API may read files; none: nowhere. */
  readonly adminFileRoots: readonly AdminFileRoot[];
  /** The namespaces that sources of kind kubernetes made through the API may name; none: there are no such sources. */
  readonly adminKubernetesNamespaces: readonly string[];
  /** May sources made through the API be fetched from private addresses? */
  readonly adminAllowPrivateIP: boolean;
  readonly dataDirectory: string;
  /** REGISTRY_KUBECONFIG or KUBECONFIG: files that name the cluster of sources of kind kubernetes. None: see Cluster. */
  readonly kubeconfig: readonly string[];
  /** `format` is null where it depends on whether somebody reads along. */
  readonly log: { readonly level: LogLevel; readonly format: LogFormat | null };
  readonly telemetry: TelemetryConfig;
  readonly audit: AuditConfig;
  readonly limits: LimitsConfig;
  readonly shutdown: ShutdownConfig;
  readonly web: WebConfig;
  readonly addresses: { readonly public: Address; readonly internal: Address };
  /** REGISTRY_INSECURE_URLS: providers may be reached without TLS. */
  readonly insecureUrls: boolean;
  /** HTTPS_PROXY, HTTP_PROXY and NO_PROXY: what requests to the outside go through. */
  readonly proxy: ProxyConfig;
}

export interface ProxyConfig {
  /** For http:// and https:// addresses; null: none. */
  readonly http: ProxyServer | null;
  readonly https: ProxyServer | null;
  /** Hosts and networks that are reached directly all the same. */
  readonly noProxy: readonly string[];
}

export interface ProxyServer {
  readonly origin: string;
  readonly credentials: { readonly username: string; readonly password: string } | null;
}

/** A directory for files and secrets of sources made through the API (contract §2, §7). */
export interface AdminFileRoot {
  readonly path: string;
  /** What callers, and what the sources carry, must cover. */
  readonly claims: Claims;
  /** The hosts to which secrets of it may be sent; null: any. */
  readonly hosts: readonly string[] | null;
}

export interface AuthConfig {
  readonly mode: AuthMode;
  /** There in mode `oauth`; possible, and unused, in mode `anonymous`. */
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
}

export interface ProviderConfig {
  readonly name: string;
  readonly issuerUrl: string;
  readonly audience: string;
  readonly jwksUrl?: string;
  readonly introspectionUrl?: string;
  readonly clientId?: string;
  /** What `clientSecretFile` held at start. */
  readonly clientSecret?: string;
  /** What `caCertPath` held at start: PEM. */
  readonly caCert?: string;
  /** Read again at each fetch (contract §8), hence the path. */
  readonly authTokenFile?: string;
  readonly allowPrivateIP: boolean;
  /** What its tokens say, as this server understands it; absent: every claim as it is. */
  readonly claims?: readonly ClaimRule[];
  /** Where the groups of a token are that does not hold them; absent: such tokens are refused. */
  readonly groups?: GroupsLocation;
  /** Origins that a browser may talk to when it logs in, beside that of the issuer. */
  readonly connectOrigins: readonly string[];
}

export interface AuthzConfig {
  /** Each role with the maps that grant it; no map, nobody's role. */
  readonly roles: Readonly<Record<RoleName, readonly Claims[]>>;
  readonly policy: {
    readonly arrayValues: 'all' | 'any';
    readonly unlabeled: 'allow' | 'deny';
    readonly registryListing: 'managers' | 'readers';
  };
}

/** A declared source; its kind gives the type of its settings. */
export type SourceConfig<K extends SourceKind = SourceKind> = {
  [P in K]: {
    readonly name: string;
    readonly kind: P;
    readonly settings: SettingsOf<P>;
    /** Null for kinds that are not synced. */
    readonly intervalMs: number | null;
    readonly filter: EntryFilterConfig | null;
    /** May it lose most of its entries at once? */
    readonly allowShrink: boolean;
    readonly claims: Claims;
  };
}[K];

export interface EntryFilterConfig {
  readonly names?: PatternFilterConfig;
  readonly tags?: PatternFilterConfig;
}

export interface PatternFilterConfig {
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
}

export interface RegistryConfig {
  readonly name: string;
  readonly sources: readonly string[];
  readonly claims: Claims;
  /** What a caller without a token holds in its reads; null: it asks for a token. */
  readonly anonymousClaims: Claims | null;
  readonly keys: readonly RegistryKey[];
  /** The claims of what is published through it; null: it takes nothing. */
  readonly publishClaims: Claims | null;
}

/** What is recorded of who did what (contract §9), beside changes and refusals. */
export interface AuditConfig {
  /** Every answer of the consumer API too? */
  readonly reads: boolean;
  /** How long events are there. */
  readonly retentionMs: number;
}

/** Beyond each of them a request waits, or is refused with `Retry-After`. */
export interface LimitsConfig {
  /** Searches of one caller at a time. */
  readonly searchesPerCaller: number;
  /** Requests under way at a time, of all callers. */
  readonly requestsInFlight: number;
  /** Open connections at a time, of all clients. */
  readonly connections: number;
  /** Distinct claims among the entries of one source. */
  readonly claimSetsPerSource: number;
  /** The most that is read of one registry file. */
  readonly mebibytesPerFile: number;
  /** How long a connection without a request stays open. */
  readonly keepAliveMs: number;
}

export interface ShutdownConfig {
  /** How long new requests are answered after the signal to stop; null: where nothing is configured. */
  readonly noticeMs: number | null;
}

/** The names are those of node-postgres. */
export interface DatabaseConfig {
  /** A host, or the directory of a socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  /** Absent: PGPASSFILE and ~/.pgpass are asked. */
  readonly password?: string;
  readonly tls?: DatabaseTls;
  readonly poolMax: number;
  /** The role that migrates, when it is another one. */
  readonly migration?: { readonly user: string; readonly password?: string };
}

/** Freezes a tree of plain data, in place. */
export function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const member of Object.values(value)) freeze(member);
  return Object.freeze(value);
}

/**
 * The OAuth settings by which tokens are asked for; undefined in mode `anonymous`, where they may stand and are not used.
 *
 * @throws Error when the mode needs settings that are not there: that must never turn into "anonymous".
 */
export function oauthInUse({ mode, oauth }: AuthConfig): OAuthConfig | undefined {
  if (mode === 'anonymous') return undefined;
  if (!oauth) throw new Error('Mode oauth without its settings was not refused');
  return oauth;
}
