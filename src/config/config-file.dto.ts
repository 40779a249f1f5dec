import { isAbsolute } from 'node:path';
import { AuthSettings } from './auth-settings.dto.js';
import type { Claims } from '../claims/claims.js';
import {
  claims,
  dnsLabel,
  duration,
  durationFrom,
  flag,
  listOf,
  oneOf,
  share,
  text,
  wholeNumber,
} from '../validation/value-checks.js';
import { DatabaseSettings } from './database/database-settings.dto.js';
import { RegistrySettings } from './registry-settings.dto.js';
import { below, type Issue, issue } from '../validation/problems.js';
import { Checked, Optional, Rule, Section, SectionList, type Unchecked } from '../validation/class-checks.js';
import { WebSettings } from './web/web-settings.dto.js';
import { SourceSettings } from '../source-kinds/source-settings.dto.js';
import { corsOrigin, host, httpUrl } from '../validation/urls.js';

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
