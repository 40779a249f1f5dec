import { isAbsolute } from 'node:path';
import type { Claims } from '../claims/claims.js';
import { SSL_MODES, type SslMode } from '../database/tls.js';
import { SourceSettings } from '../source-kinds/source-settings.dto.js';
import {
  IsBoolean,
  IsClaims,
  IsDnsLabel,
  IsDuration,
  IsHttpUrl,
  IsIn,
  IsInt,
  IsOptional,
  IsText,
  type Unchecked,
  Validate,
  ValidateClass,
  ValidateNested,
} from '../validation/class-validation.js';
import { corsOrigin, host, hostAndPort, httpOrigin } from '../validation/urls.js';
import {
  below,
  dnsLabel,
  durationFrom,
  sizeFrom,
  foundKind,
  type Issue,
  issue,
  listOf,
  share,
  text,
} from '../validation/value-checks.js';
import { AuthSettings } from './auth-settings.dto.js';
import { databaseUrl, parseDatabaseUrl, tlsIssues } from './database-settings.js';
import { RegistrySettings } from './registry-settings.dto.js';
import { AdmissionSection, MAX_WEBHOOKS, WebhookItem } from './webhook-settings.dto.js';

export class PoolSettings {
  @IsOptional() @IsInt(1, 1_000) max?: number;
}

/** The PostgreSQL connection; without this section the embedded PostgreSQL starts (reference/configuration). */
@ValidateClass<DatabaseSettings>(urlOrParts)
@ValidateClass<DatabaseSettings>(oneSecret('password', 'passwordFile'))
@ValidateClass<DatabaseSettings>(oneSecret('migrationPassword', 'migrationPasswordFile'))
@ValidateClass<DatabaseSettings>((database) =>
  database.migrationUser === undefined &&
  (database.migrationPassword !== undefined || database.migrationPasswordFile !== undefined)
    ? below(['migrationUser'], issue('is required with migrationPassword or migrationPasswordFile'))
    : [],
)
export class DatabaseSettings {
  @IsOptional() @Validate(databaseUrl) url?: string;
  @IsOptional() @IsText(hostName) host?: string;
  @IsOptional() @IsInt(1, 65_535) port?: number;
  @IsOptional() @IsText() user?: string;
  @IsOptional() @IsText() database?: string;
  @IsOptional() @IsIn(SSL_MODES) sslMode?: SslMode;
  @IsOptional() @IsText() sslRootCertFile?: string;
  @IsOptional() @IsText() sslCertFile?: string;
  @IsOptional() @IsText() sslKeyFile?: string;
  @IsOptional() @ValidateNested(() => PoolSettings) pool?: PoolSettings;
  @IsOptional() @IsText() password?: string;
  @IsOptional() @IsText() passwordFile?: string;
  @IsOptional() @IsText() migrationUser?: string;
  @IsOptional() @IsText() migrationPassword?: string;
  @IsOptional() @IsText() migrationPasswordFile?: string;
}

function urlOrParts(database: Unchecked<DatabaseSettings>): Issue[] {
  if (database.url === undefined)
    return [
      ...(['host', 'user', 'database'] as const)
        .filter((key) => database[key] === undefined)
        .flatMap((key) => below([key], issue('is required without a url'))),
      ...tlsIssues(database, false),
    ];
  const issues = (['host', 'port', 'user', 'database'] as const)
    .filter((key) => database[key] !== undefined)
    .flatMap((key) => below([key], issue('must not be set together with url, which contains it')));
  const parsed = parseDatabaseUrl(database.url);
  if (typeof parsed === 'string') return issues;
  issues.push(...tlsIssues(database, parsed.tls !== undefined));
  if (parsed.password === undefined) return issues;
  for (const key of ['password', 'passwordFile'] as const)
    if (database[key] !== undefined)
      issues.push(...below([key], issue('must not be set: the url contains a password')));
  return issues;
}

function oneSecret<T extends keyof DatabaseSettings>(
  inline: T,
  file: T,
): (database: Unchecked<DatabaseSettings>) => Issue[] {
  return (database) =>
    database[inline] !== undefined && database[file] !== undefined
      ? below([file], issue(`must not be set together with ${inline}`))
      : [];
}

function hostName(value: string): string | undefined {
  const socketDirectory = value.startsWith('/');
  if (socketDirectory || /^[\w.:%-]+$/.test(value)) return undefined;
  return 'must be a host name, an IP address or the directory of a Unix socket';
}

/** Log-in to the web UI through one identity provider. */
export class WebLoginSettings {
  /** Name of the provider in `auth.oauth.providers`. */
  @IsText() provider: string;
  /** Must be a public client: a browser cannot keep a secret. */
  @IsText() clientId: string;
  /** Requested scopes; default: `openid`, and the `scopesSupported` that the provider lists in its discovery document. */
  @IsOptional() @Validate(listOf(text(scope), { notEmpty: true, unique: true })) scopes?: string[];
  /** Additional parameters of the authorization request, such as `audience`. */
  @IsOptional() @Validate(parameters) parameters?: Record<string, string>;
}

/** The web UI at `/`. */
export class WebSettings {
  @IsOptional() @IsBoolean() enabled?: boolean;
  @IsOptional() @ValidateNested(() => WebLoginSettings, { each: true }) logins?: WebLoginSettings[];
  /** Origins from which the server fetches the icons of entries. */
  @IsOptional() @Validate(listOf(httpOrigin, { unique: true })) iconOrigins?: string[];
  /** Name of the web UI; default: `Registry`. */
  @IsOptional() @Validate(text(webTitle)) title?: string;
  /** A picture beside the title: a PNG, JPEG, GIF, WebP or SVG file. */
  @IsOptional() @IsText() logo?: string;
  /** Color of links and buttons, such as `#0b6b62`. */
  @IsOptional() @Validate(text(accentColour)) accent?: string;
}

const MAX_TITLE = 40;

function webTitle(value: string): string | undefined {
  return value.length > MAX_TITLE || value.trim() !== value || /\p{C}/u.test(value)
    ? `must have at most ${MAX_TITLE} visible characters`
    : undefined;
}

/** WCAG 2.2 §1.4.3: the color must be readable on white, and white on it. */
const MIN_CONTRAST = 4.5;

function accentColour(value: string): string | undefined {
  if (!/^#[0-9a-f]{6}$/i.test(value)) return 'must be a color such as "#0b6b62"';
  const contrast = contrastWithWhite(value);
  return contrast < MIN_CONTRAST
    ? `has a contrast of ${contrast.toFixed(1)} with white, but needs ${MIN_CONTRAST}: use a darker color`
    : undefined;
}

/** https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio */
function contrastWithWhite(colour: string): number {
  const light = [1, 3, 5].map((at) => {
    const share = parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const [red = 0, green = 0, blue = 0] = light;
  return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05);
}

// RFC 6749 §3.3
function scope(value: string): string | undefined {
  return /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(value)
    ? undefined
    : 'must be a scope: ASCII without spaces, quotes or backslashes';
}

/** Parameters that the log-in itself sets (RFC 6749 §4.1.1, RFC 7636 §4.3). */
const RESERVED = [
  'client_id',
  'redirect_uri',
  'response_type',
  'response_mode',
  'scope',
  'state',
  'nonce',
  'code_challenge',
  'code_challenge_method',
];

function parameters(value: unknown): Issue[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return issue(`must be a map of strings, not ${foundKind(value)}`);
  return Object.entries(value).flatMap(([name, given]) => {
    if (typeof given !== 'string')
      return issue(`must only contain strings: ${JSON.stringify(name)} is ${foundKind(given)}`);
    return RESERVED.includes(name)
      ? issue(`must not contain ${JSON.stringify(name)}, which the log-in sets`)
      : [];
  });
}

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export const LOG_FORMATS = ['json', 'text'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

export class SourceItem extends SourceSettings {
  @IsDnsLabel() name: string;
}

export class RegistryItem extends RegistrySettings {
  @IsDnsLabel() name: string;
}

export class CorsSettings {
  @IsOptional() @Validate(listOf(corsOrigin, { unique: true })) origins?: string[];
}

const MAX_SYNONYM_GROUPS = 1_000;
const MAX_SYNONYMS = 20;

/** A group of words that mean the same. */
const synonymGroup = listOf(
  text((word) =>
    word.length <= 100 && /^[\p{L}\p{M}\p{N}]+$/u.test(word)
      ? undefined
      : 'must be one word of letters and digits, of at most 100 characters',
  ),
  { notEmpty: true, unique: true, most: MAX_SYNONYMS },
);

/** reference/search */
export class SearchSettings {
  /** Groups of words that searches treat as equal, in addition to the built-in ones. */
  @IsOptional() @Validate(listOf(synonymGroup, { most: MAX_SYNONYM_GROUPS })) synonyms?: string[][];
}

export class LogSettings {
  @IsOptional() @IsIn(LOG_LEVELS) level?: LogLevel;
  /** Default: text on a terminal, otherwise JSON. */
  @IsOptional() @IsIn(LOG_FORMATS) format?: LogFormat;
}

/** reference/configuration: traces and metrics sent over OTLP. */
export class TelemetrySettings {
  /** OTLP/HTTP endpoint of a collector, without `/v1/traces`; default: nothing is sent. */
  @IsOptional() @IsHttpUrl({ bare: true }) otlpEndpoint?: string;
  /** The share of traces started by this server that are recorded. */
  @IsOptional() @Validate(share) sampleRatio?: number;
  /** Hosts that receive `traceparent` in outbound requests; default: none. */
  @IsOptional() @Validate(listOf(host, { unique: true })) traceparentHosts?: string[];
}

/** reference/audit: which events are recorded, and for how long. */
export class AuditSettings {
  /** Whether reads through the consumer API are recorded too. */
  @IsOptional() @IsBoolean() reads?: boolean;
  @IsOptional() @IsDuration() retention?: string;
}

/** reference/configuration: limits per replica. */
export class LimitSettings {
  /** Concurrent searches per caller. */
  @IsOptional() @IsInt(1, 1_000) searchesPerCaller?: number;
  @IsOptional() @IsInt(1, 100_000) requestsInFlight?: number;
  @IsOptional() @IsInt(1, 100_000) connections?: number;
  /** Claim sets per source. */
  @IsOptional() @IsInt(1, 1_000_000) claimSetsPerSource?: number;
  /** Maximum size of a registry file. */
  @IsOptional() @IsInt(1, 512) mebibytesPerFile?: number;
  /** Stored versions of one entry, deleted ones included. */
  @IsOptional() @IsInt(1, 1_000_000) versionsPerEntry?: number;
  /** Bytes of the stored documents of one entry, such as `64MiB`. */
  @IsOptional() @Validate(sizeFrom('1KiB', '64GiB')) bytesPerEntry?: string;
  /** Bytes of the publisher's block in `_meta` of one document, such as `256KiB`. */
  @IsOptional() @Validate(sizeFrom('1KiB', '1MiB')) publisherMeta?: string;
  /** Sources created through the API. */
  @IsOptional() @IsInt(0, 100_000) apiSources?: number;
  /** Registries created through the API. */
  @IsOptional() @IsInt(0, 100_000) apiRegistries?: number;
  /** Requests of one caller that changed something, per minute. */
  @IsOptional() @IsInt(1, 1_000_000) changesPerMinute?: number;
  /** Size of the index of the ranked search, in memory. */
  @IsOptional() @Validate(sizeFrom('1KiB', '64GiB')) searchIndexBytes?: string;
  /** How long an idle connection stays open. */
  @IsOptional() @Validate(durationFrom('1s', '10m')) keepAlive?: string;
}

/** reference/content: where content of `git` and `oci` packages may be fetched from. */
export class ContentFetchSettings {
  /** Host names, each with an optional port; private ones are allowed. */
  @Validate(listOf(hostAndPort, { unique: true })) hosts: string[];
}

/** reference/content: the files of skills and plugins. */
export class ContentSettings {
  @IsOptional() @ValidateNested(() => ContentFetchSettings) fetch?: ContentFetchSettings;
  /** Bytes of the unpacked files of one version, such as `16MiB`. */
  @IsOptional() @Validate(sizeFrom('1KiB', '256MiB')) maxBytesPerVersion?: string;
  /** Bytes of all stored files. */
  @IsOptional() @Validate(sizeFrom('1KiB', '102400GiB')) maxBytes?: string;
}

/** reference/commands */
export class ShutdownSettings {
  /** How long new requests are still accepted after the stop signal. */
  @IsOptional() @Validate(durationFrom('0s', '5m')) notice?: string;
}

/** A directory with files for sources created through the API (reference/configuration). */
export class AdminFileRootItem {
  @IsText(absolutePath) path: string;
  /** Claims that the caller and the source must cover. */
  @IsOptional() @IsClaims() claims?: Claims;
  /** Hosts that may receive secrets from this directory; default: none. */
  @IsOptional() @Validate(listOf(host, { unique: true })) hosts?: string[];
}

/** The configuration file (reference/configuration). */
@ValidateClass<ConfigFile>(oneWayToNameRoots)
export class ConfigFile {
  @ValidateNested(() => AuthSettings) auth: AuthSettings;
  @IsOptional() @ValidateNested(() => SourceItem, { each: true }) sources?: SourceItem[];
  @IsOptional() @ValidateNested(() => RegistryItem, { each: true }) registries?: RegistryItem[];
  /** The registry that is also served at the root. */
  @IsOptional() @IsDnsLabel() rootRegistry?: string;
  @IsOptional() @ValidateNested(() => DatabaseSettings) database?: DatabaseSettings;
  @IsOptional() @ValidateNested(() => CorsSettings) cors?: CorsSettings;
  @IsOptional() @ValidateNested(() => SearchSettings) search?: SearchSettings;
  @IsOptional() @IsBoolean() readOnly?: boolean;
  @IsOptional() @IsText(absolutePath) adminFileRoot?: string;
  @IsOptional() @ValidateNested(() => AdminFileRootItem, { each: true }) adminFileRoots?: AdminFileRootItem[];
  /** Namespaces for Kubernetes sources created through the API; default: none. */
  @IsOptional() @Validate(listOf(dnsLabel, { unique: true })) adminKubernetesNamespaces?: string[];
  /** Whether sources created through the API may be fetched from private addresses. */
  @IsOptional() @IsBoolean() adminAllowPrivateIP?: boolean;
  /** Whether registries created through the API may have `anonymous` and `keys`. */
  @IsOptional() @IsBoolean() adminOpenAccess?: boolean;
  @IsOptional() @ValidateNested(() => LogSettings) log?: LogSettings;
  @IsOptional() @ValidateNested(() => AuditSettings) audit?: AuditSettings;
  @IsOptional() @ValidateNested(() => TelemetrySettings) telemetry?: TelemetrySettings;
  /** Receivers of audit events. */
  @IsOptional()
  @ValidateNested(() => WebhookItem, { each: true, most: MAX_WEBHOOKS })
  webhooks?: WebhookItem[];
  /** What may come in, for all sources. */
  @IsOptional() @ValidateNested(() => AdmissionSection) admission?: AdmissionSection;
  @IsOptional() @ValidateNested(() => LimitSettings) limits?: LimitSettings;
  @IsOptional() @ValidateNested(() => ContentSettings) content?: ContentSettings;
  @IsOptional() @ValidateNested(() => ShutdownSettings) shutdown?: ShutdownSettings;
  @IsOptional() @ValidateNested(() => WebSettings) web?: WebSettings;
}

function absolutePath(value: string): string | undefined {
  return isAbsolute(value) ? undefined : 'must be an absolute path';
}

function oneWayToNameRoots({ adminFileRoot, adminFileRoots }: Unchecked<ConfigFile>): Issue[] {
  return adminFileRoot === undefined || adminFileRoots === undefined
    ? []
    : below(['adminFileRoot'], issue('must not be set together with adminFileRoots: add it there'));
}
