import { isAbsolute } from 'node:path';
import type { Claims } from '../claims/claims.js';
import { SourceSettings } from '../source-kinds/source-settings.dto.js';
import { Checked, Optional, Rule, Section, SectionList, type Unchecked } from '../validation/class-checks.js';
import { below, type Issue, issue } from '../validation/problems.js';
import { corsOrigin, host, httpOrigin, httpUrl } from '../validation/urls.js';
import {
  claims,
  dnsLabel,
  duration,
  durationFrom,
  flag,
  foundKind,
  listOf,
  oneOf,
  share,
  text,
  wholeNumber,
} from '../validation/value-checks.js';
import { AuthSettings } from './auth-settings.dto.js';
import { databaseUrl, parseDatabaseUrl, SSL_MODES, type SslMode, tlsIssues } from './database-settings.js';
import { RegistrySettings } from './registry-settings.dto.js';

export class PoolSettings {
  @Optional() @Checked(wholeNumber(1, 1_000)) max?: number;
}

/** How to reach a PostgreSQL; without this section an embedded one is started (contract §2). */
@Rule<DatabaseSettings>(urlOrParts)
@Rule<DatabaseSettings>(oneSecret('password', 'passwordFile'))
@Rule<DatabaseSettings>(oneSecret('migrationPassword', 'migrationPasswordFile'))
@Rule<DatabaseSettings>((database) =>
  database.migrationUser === undefined &&
  (database.migrationPassword !== undefined || database.migrationPasswordFile !== undefined)
    ? below(['migrationUser'], issue('is required beside a password for it'))
    : [],
)
export class DatabaseSettings {
  @Optional() @Checked(databaseUrl) url?: string;
  @Optional() @Checked(text(hostName)) host?: string;
  @Optional() @Checked(wholeNumber(1, 65_535)) port?: number;
  @Optional() @Checked(text()) user?: string;
  @Optional() @Checked(text()) database?: string;
  @Optional() @Checked(oneOf(...SSL_MODES)) sslMode?: SslMode;
  @Optional() @Checked(text()) sslRootCertFile?: string;
  @Optional() @Checked(text()) sslCertFile?: string;
  @Optional() @Checked(text()) sslKeyFile?: string;
  @Optional() @Section(() => PoolSettings) pool?: PoolSettings;
  @Optional() @Checked(text()) password?: string;
  @Optional() @Checked(text()) passwordFile?: string;
  @Optional() @Checked(text()) migrationUser?: string;
  @Optional() @Checked(text()) migrationPassword?: string;
  @Optional() @Checked(text()) migrationPasswordFile?: string;
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
    .flatMap((key) => below([key], issue('is not possible beside a url, which says the same')));
  const parsed = parseDatabaseUrl(database.url);
  if (typeof parsed === 'string') return issues;
  issues.push(...tlsIssues(database, parsed.tls !== undefined));
  if (parsed.password === undefined) return issues;
  for (const key of ['password', 'passwordFile'] as const)
    if (database[key] !== undefined)
      issues.push(...below([key], issue('is not possible: the url holds a password')));
  return issues;
}

function oneSecret<T extends keyof DatabaseSettings>(
  inline: T,
  file: T,
): (database: Unchecked<DatabaseSettings>) => Issue[] {
  return (database) =>
    database[inline] !== undefined && database[file] !== undefined
      ? below([file], issue(`is not possible beside ${inline}`))
      : [];
}

function hostName(value: string): string | undefined {
  const socketDirectory = value.startsWith('/');
  if (socketDirectory || /^[\w.:%-]+$/.test(value)) return undefined;
  return 'must be a host name, an address, or the directory of a socket';
}

/** How people log in at one identity provider: what it knows the page as. */
export class WebLoginSettings {
  /** Its name in `auth.oauth.providers`. */
  @Checked(text()) provider: string;
  /** Of a public client: a browser keeps no secret. */
  @Checked(text()) clientId: string;
  /** What is asked for; absent: `openid` and `scopesSupported`. */
  @Optional() @Checked(listOf(text(scope), { notEmpty: true, unique: true })) scopes?: string[];
  /** What the provider wants to be told beside, such as `audience`. */
  @Optional() @Checked(parameters) parameters?: Record<string, string>;
}

/** The page for people at `/`. */
export class WebSettings {
  @Optional() @Checked(flag) enabled?: boolean;
  @Optional() @SectionList(() => WebLoginSettings) logins?: WebLoginSettings[];
  /** Where icons of entries may be loaded from; whoever serves them sees who looks at the catalogue. */
  @Optional() @Checked(listOf(httpOrigin, { unique: true })) iconOrigins?: string[];
}

// RFC 6749 §3.3
function scope(value: string): string | undefined {
  return /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(value)
    ? undefined
    : 'must be a scope: ASCII without spaces and quotes';
}

/** Those the log-in itself sets (RFC 6749 §4.1.1, RFC 7636 §4.3). */
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
    return issue(`must be a map of names and texts, not ${foundKind(value)}`);
  return Object.entries(value).flatMap(([name, given]) => {
    if (typeof given !== 'string')
      return issue(`must hold texts alone: ${JSON.stringify(name)} is ${foundKind(given)}`);
    return RESERVED.includes(name)
      ? issue(`must not hold ${JSON.stringify(name)}, which the log-in itself sets`)
      : [];
  });
}

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export const LOG_FORMATS = ['json', 'text'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

export class SourceItem extends SourceSettings {
  @Checked(dnsLabel) name: string;
}

export class RegistryItem extends RegistrySettings {
  @Checked(dnsLabel) name: string;
}

export class CorsSettings {
  @Optional() @Checked(listOf(corsOrigin, { unique: true })) origins?: string[];
}

export class LogSettings {
  @Optional() @Checked(oneOf(...LOG_LEVELS)) level?: LogLevel;
  /** Absent: text on a terminal, JSON elsewhere. */
  @Optional() @Checked(oneOf(...LOG_FORMATS)) format?: LogFormat;
}

/** contract §2: traces, and metrics beside those that Prometheus reads. */
export class TelemetrySettings {
  /** The OTLP/HTTP endpoint of a collector, without `/v1/traces`; absent: neither is sent. */
  @Optional() @Checked(httpUrl({ bare: true })) otlpEndpoint?: string;
  /** How many of the traces that begin here are recorded. */
  @Optional() @Checked(share) sampleRatio?: number;
  /** Where requests of ours carry `traceparent`; absent: nowhere. */
  @Optional() @Checked(listOf(host, { unique: true })) traceparentHosts?: string[];
}

/** contract §9: what is recorded, and how long it is kept. */
export class AuditSettings {
  /** Every answer of the consumer API too? */
  @Optional() @Checked(flag) reads?: boolean;
  @Optional() @Checked(duration) retention?: string;
}

/** contract §2: what one server does at a time, and holds. */
export class LimitSettings {
  /** Searches of one caller at a time. */
  @Optional() @Checked(wholeNumber(1, 1_000)) searchesPerCaller?: number;
  @Optional() @Checked(wholeNumber(1, 100_000)) requestsInFlight?: number;
  @Optional() @Checked(wholeNumber(1, 100_000)) connections?: number;
  /** Distinct claims among the entries of one source. */
  @Optional() @Checked(wholeNumber(1, 1_000_000)) claimSetsPerSource?: number;
  /** Of one registry file. */
  @Optional() @Checked(wholeNumber(1, 512)) mebibytesPerFile?: number;
  /** How long a connection without a request stays open. */
  @Optional() @Checked(durationFrom('1s', '10m')) keepAlive?: string;
}

/** contract §1: how a server ends. */
export class ShutdownSettings {
  /** How long it goes on answering new requests once it is told to stop; absent: not at all on a terminal. */
  @Optional() @Checked(durationFrom('0s', '5m')) notice?: string;
}

/** A directory below which sources made through the API may read files (contract §2). */
export class AdminFileRootItem {
  @Checked(text(absolutePath)) path: string;
  /** What callers, and what the sources carry, must cover. */
  @Optional() @Checked(claims) claims?: Claims;
  /** Where secrets may be sent; absent: nowhere. */
  @Optional() @Checked(listOf(host, { unique: true })) hosts?: string[];
}

/** The configuration file as it is written (contract §2). */
@Rule<ConfigFile>(oneWayToNameRoots)
export class ConfigFile {
  @Section(() => AuthSettings) auth: AuthSettings;
  @Optional() @SectionList(() => SourceItem) sources?: SourceItem[];
  @Optional() @SectionList(() => RegistryItem) registries?: RegistryItem[];
  /** The registry that also answers at the root. */
  @Optional() @Checked(dnsLabel) rootRegistry?: string;
  @Optional() @Section(() => DatabaseSettings) database?: DatabaseSettings;
  @Optional() @Section(() => CorsSettings) cors?: CorsSettings;
  @Optional() @Checked(flag) readOnly?: boolean;
  @Optional() @Checked(text(absolutePath)) adminFileRoot?: string;
  @Optional() @SectionList(() => AdminFileRootItem) adminFileRoots?: AdminFileRootItem[];
  /** Where sources of kind kubernetes that were made through the API may look; absent: nowhere. */
  @Optional() @Checked(listOf(dnsLabel, { unique: true })) adminKubernetesNamespaces?: string[];
  /** May sources made through the API be fetched from private addresses? */
  @Optional() @Checked(flag) adminAllowPrivateIP?: boolean;
  @Optional() @Section(() => LogSettings) log?: LogSettings;
  @Optional() @Section(() => AuditSettings) audit?: AuditSettings;
  @Optional() @Section(() => TelemetrySettings) telemetry?: TelemetrySettings;
  @Optional() @Section(() => LimitSettings) limits?: LimitSettings;
  @Optional() @Section(() => ShutdownSettings) shutdown?: ShutdownSettings;
  @Optional() @Section(() => WebSettings) web?: WebSettings;
}

function absolutePath(value: string): string | undefined {
  return isAbsolute(value) ? undefined : 'must be an absolute path';
}

function oneWayToNameRoots({ adminFileRoot, adminFileRoots }: Unchecked<ConfigFile>): Issue[] {
  return adminFileRoot === undefined || adminFileRoots === undefined
    ? []
    : below(['adminFileRoot'], issue('is not possible beside adminFileRoots: name it there'));
}
