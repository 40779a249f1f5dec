import { isAbsolute } from 'node:path';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayNotEmpty,
  ArrayUnique,
  IsArray,
  IsBoolean,
  IsDefined,
  IsIn,
  IsInt,
  IsNumber,
  IsOptional,
  Matches,
  Max,
  Min,
  ValidateNested,
  type ValidationOptions,
} from 'class-validator';
import type { Claims } from '../claims/claims.js';
import { SSL_MODES, type SslMode } from '../database/tls.js';
import { elements, isObject } from '../json/json-values.js';
import { SourceSettings } from '../source-kinds/source-settings.dto.js';
import { checkShape, type Unchecked, ValidateClass } from '../validation/class-validation.js';
import {
  decoratorOf,
  HasUniqueNames,
  IsBaseUrl,
  IsClaims,
  IsDnsLabel,
  IsDuration,
  IsFileName,
  IsHost,
  IsHttpOrigin,
  IsSize,
  IsText,
  textDecorator,
  textProblem,
} from '../validation/decorators.js';
import { isHttpOrigin, parseHostAndPort } from '../validation/urls.js';
import { below, foundKind, type Issue, issue } from '../validation/value-checks.js';
import { AuthSettings, IsScope } from './auth-settings.dto.js';
import { parseDatabaseUrl, tlsIssues } from './database-settings.js';
import { RegistrySettings } from './registry-settings.dto.js';
import { AdmissionSection, MAX_WEBHOOKS, WebhookItem } from './webhook-settings.dto.js';

export class PoolSettings {
  @IsInt() @Min(1) @Max(1_000) max = 10;
}

/** Messages never contain the URL, which may contain a password. */
const IsDatabaseUrl = textDecorator('isDatabaseUrl', (text) => {
  const parsed = parseDatabaseUrl(text);
  return typeof parsed === 'string' ? parsed : undefined;
});

const HOST = /^(\/.*|[\w.:%-]+)$/;
const HOST_RULE = 'must be a host name, an IP address or the directory of a Unix socket';

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
  @IsOptional() @IsDatabaseUrl() url?: string;
  @IsOptional() @IsText() @Matches(HOST, { message: HOST_RULE }) host?: string;
  @IsOptional() @IsInt() @Min(1) @Max(65_535) port?: number;
  @IsOptional() @IsText() user?: string;
  @IsOptional() @IsText() database?: string;
  @IsOptional() @IsIn(SSL_MODES) sslMode?: SslMode;
  @IsOptional() @IsFileName() sslRootCertFile?: string;
  @IsOptional() @IsFileName() sslCertFile?: string;
  @IsOptional() @IsFileName() sslKeyFile?: string;
  @ValidateNested() @Type(() => PoolSettings) pool = new PoolSettings();
  @IsOptional() @IsText() password?: string;
  @IsOptional() @IsFileName() passwordFile?: string;
  @IsOptional() @IsText() migrationUser?: string;
  @IsOptional() @IsText() migrationPassword?: string;
  @IsOptional() @IsFileName() migrationPasswordFile?: string;
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

const MAX_TITLE = 40;

const IsTitle = textDecorator('isTitle', (text) =>
  text.length > MAX_TITLE || text.trim() !== text || /\p{C}/u.test(text)
    ? `must have at most ${MAX_TITLE} visible characters`
    : undefined,
);

/** WCAG 2.2 §1.4.3: text in this color on white, and white text on this color, must be readable. */
const MIN_CONTRAST = 4.5;

const IsAccent = textDecorator('isAccent', (text) => {
  if (!/^#[0-9a-f]{6}$/i.test(text)) return 'must be a color such as "#0b6b62"';
  const contrast = contrastWithWhite(text);
  return contrast < MIN_CONTRAST
    ? `has a contrast of ${contrast.toFixed(1)} with white, but needs ${MIN_CONTRAST}: use a darker color`
    : undefined;
});

/** https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio */
function contrastWithWhite(color: string): number {
  const light = [1, 3, 5].map((at) => {
    const share = parseInt(color.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const [red = 0, green = 0, blue = 0] = light;
  return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05);
}

/** Parameters that the login itself sets (RFC 6749 §4.1.1, RFC 7636 §4.3). */
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

const IsLoginParameters = () =>
  decoratorOf('isLoginParameters', (value) => {
    if (!isObject(value)) return issue(`must be a map of strings, not ${foundKind(value)}`);
    return Object.entries(value).flatMap(([name, given]) => {
      if (typeof given !== 'string')
        return issue(`must only contain strings: ${JSON.stringify(name)} is ${foundKind(given)}`);
      return RESERVED.includes(name)
        ? issue(`must not contain ${JSON.stringify(name)}, which the login sets`)
        : [];
    });
  });

/** Login to the web UI through one identity provider. */
export class WebLoginSettings {
  /** Name of the provider in `auth.oauth.providers`. */
  @IsText() provider: string;
  /** Must be a public client: a browser cannot keep a secret. */
  @IsText() clientId: string;
  /** Requested scopes; default: `openid`, and the `scopesSupported` that the provider lists in its discovery document. */
  @IsOptional() @IsArray() @ArrayNotEmpty() @IsScope({ each: true }) @ArrayUnique() scopes?: string[];
  /** Additional parameters of the authorization request, such as `audience`. */
  @IsLoginParameters() parameters: Record<string, string> = {};
}

/** The web UI at `/`. */
export class WebSettings {
  @IsBoolean() enabled = true;
  @IsArray() @ValidateNested({ each: true }) @Type(() => WebLoginSettings) logins: WebLoginSettings[] = [];
  /** Origins from which the server fetches the icons of entries. */
  @IsArray() @IsHttpOrigin({ each: true }) @ArrayUnique() iconOrigins: string[] = [];
  /** Name of the web UI. */
  @IsTitle() title = 'Registry';
  /** An image next to the title: a PNG, JPEG, GIF, WebP or SVG file. */
  @IsOptional() @IsFileName() logo?: string;
  /** Color of links and buttons, such as `#0b6b62`. */
  @IsOptional() @IsAccent() accent: string | null = null;
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

/** `*`, or an origin as browsers send it. */
const IsCorsOrigin = textDecorator('isCorsOrigin', (text) =>
  text === '*' || isHttpOrigin(text)
    ? undefined
    : 'must be "*" or an origin such as https://portal.example.com',
);

export class CorsSettings {
  @IsArray() @IsCorsOrigin({ each: true }) @ArrayUnique() origins: string[] = ['*'];
}

const MAX_SYNONYMS = 20;

/** A group of synonyms. */
const IsSynonymGroup = (options: ValidationOptions) =>
  decoratorOf(
    'isSynonymGroup',
    (group) => {
      if (!Array.isArray(group)) return issue(`must be a list, not ${foundKind(group)}`);
      if (group.length === 0) return issue('must not be an empty list');
      if (group.length > MAX_SYNONYMS) return issue(`must not have more than ${MAX_SYNONYMS} items`);
      return group.flatMap((word: unknown, position) => {
        if (typeof word !== 'string' || word.length > 100 || !/^[\p{L}\p{M}\p{N}]+$/u.test(word))
          return below(
            [position],
            issue('must be one word of letters and digits, of at most 100 characters'),
          );
        return group.indexOf(word) < position
          ? below([position], issue(`${JSON.stringify(word)} is already in the list`))
          : [];
      });
    },
    options,
  );

/** reference/search */
export class SearchSettings {
  /** Groups of words that searches treat as equal, in addition to the built-in ones. */
  @IsArray() @ArrayMaxSize(1_000) @IsSynonymGroup({ each: true }) synonyms: string[][] = [];
}

export class LogSettings {
  @IsIn(LOG_LEVELS) level: LogLevel = 'info';
  /** Default: text on a terminal, otherwise JSON. */
  @IsOptional() @IsIn(LOG_FORMATS) format: LogFormat | null = null;
}

/** reference/configuration: traces and metrics sent over OTLP. */
export class TelemetrySettings {
  /** OTLP/HTTP endpoint of a collector, without `/v1/traces`; default: nothing is sent. */
  @IsOptional() @IsBaseUrl() otlpEndpoint?: string;
  /** The share of traces started by this server that are recorded. */
  @IsNumber() @Min(0) @Max(1) sampleRatio = 0.1;
  /** Hosts that receive `traceparent` in outbound requests; default: none. */
  @IsArray() @IsHost({ each: true }) @ArrayUnique() traceparentHosts: string[] = [];
}

/** reference/audit: which events are recorded, and for how long. */
export class AuditSettings {
  /** Whether reads through the consumer API are also recorded. */
  @IsBoolean() reads = false;
  @IsDuration() retention = '90d';
}

/** reference/configuration: limits per replica. */
export class LimitSettings {
  /** Concurrent searches per caller. */
  @IsInt() @Min(1) @Max(1_000) searchesPerCaller = 2;
  @IsInt() @Min(1) @Max(100_000) requestsInFlight = 1_000;
  @IsInt() @Min(1) @Max(100_000) connections = 2_000;
  /** Claim sets per source. */
  @IsInt() @Min(1) @Max(1_000_000) claimSetsPerSource = 10_000;
  /** Maximum size of a registry file. */
  @IsInt() @Min(1) @Max(512) mebibytesPerFile = 64;
  /** Stored versions of one entry, including deleted ones. */
  @IsInt() @Min(1) @Max(1_000_000) versionsPerEntry = 1_000;
  /** Bytes of the stored documents of one entry, such as `64MiB`. */
  @IsSize('1KiB', '64GiB') bytesPerEntry = '64MiB';
  /** Bytes of the publisher's block in `_meta` of one document, such as `256KiB`. */
  @IsSize('1KiB', '1MiB') publisherMeta = '256KiB';
  /** Sources created through the API. */
  @IsInt() @Min(0) @Max(100_000) apiSources = 1_000;
  /** Registries created through the API. */
  @IsInt() @Min(0) @Max(100_000) apiRegistries = 1_000;
  /** Requests of one caller that changed something, per minute. */
  @IsInt() @Min(1) @Max(1_000_000) changesPerMinute = 600;
  /** Size of the index of the ranked search, in memory. */
  @IsSize('1KiB', '64GiB') searchIndexBytes = '128MiB';
  /** How long an idle connection stays open: longer than the 60 s of most load balancers, which must not reuse closed ones. */
  @IsDuration('1s', '10m') keepAlive = '65s';
}

const hostProblem = (text: string) =>
  parseHostAndPort(text) === undefined
    ? 'must be a host name with an optional port, without scheme and path'
    : undefined;

const IsHostAndPort = textDecorator('isHostAndPort', hostProblem);

/** The account used to fetch content from a host. */
class ContentHostAuth {
  @IsText() username: string;
  @IsText() passwordFile: string;
}

/** A host from which content may be fetched. */
export class ContentHost {
  /** A host name with an optional port; private hosts are allowed. */
  @IsHostAndPort() host: string;
  @IsOptional() @ValidateNested() @Type(() => ContentHostAuth) auth?: ContentHostAuth;
}

/** Hosts, each with its settings or as a name only. */
const AreContentHosts = () =>
  decoratorOf('areContentHosts', (list) => {
    const names = elements(list).map((item) => parseHostAndPort(isObject(item) ? item['host'] : item));
    return elements(list).flatMap((item, position) => {
      if (names[position] !== undefined && names.indexOf(names[position]) < position)
        return below([position], issue('is already in the list'));
      if (isObject(item)) return below([position], checkShape(ContentHost, item).issues);
      const problem = textProblem(item) ?? hostProblem(String(item));
      return problem === undefined ? [] : below([position], issue(problem));
    });
  });

/** reference/content: the hosts from which the content of `git` and `oci` packages may be fetched. */
export class ContentFetchSettings {
  @IsArray() @AreContentHosts() hosts: (string | ContentHost)[];
}

/** reference/content: the files of skills and plugins. */
export class ContentSettings {
  @IsOptional() @ValidateNested() @Type(() => ContentFetchSettings) fetch?: ContentFetchSettings;
  /** Bytes of the unpacked files of one version, such as `16MiB`. */
  @IsSize('1KiB', '256MiB') maxBytesPerVersion = '16MiB';
  /** Bytes of all stored files. */
  @IsSize('1KiB', '102400GiB') maxBytes = '10GiB';
}

/** reference/commands */
export class ShutdownSettings {
  /** How long new requests are still accepted after the stop signal. */
  @IsOptional() @IsDuration('0s', '5m') notice?: string;
}

const IsAbsolutePath = textDecorator('isAbsolutePath', (text) =>
  isAbsolute(text) ? undefined : 'must be an absolute path',
);

/** A directory with files for sources created through the API (reference/configuration). */
export class AdminFileRootItem {
  @IsAbsolutePath() path: string;
  /** Claims that the caller and the source must cover. */
  @IsClaims() claims: Claims = {};
  /** Hosts that may receive secrets from this directory; default: none. */
  @IsArray() @IsHost({ each: true }) @ArrayUnique() hosts: string[] = [];
}

/** The configuration file (reference/configuration). */
@ValidateClass<ConfigFile>(oneWayToNameRoots)
export class ConfigFile {
  @IsDefined() @ValidateNested() @Type(() => AuthSettings) auth: AuthSettings;
  @IsArray() @HasUniqueNames() @ValidateNested({ each: true }) @Type(() => SourceItem) sources: SourceItem[] =
    [];
  @IsArray()
  @HasUniqueNames()
  @ValidateNested({ each: true })
  @Type(() => RegistryItem)
  registries: RegistryItem[] = [];
  /** The registry that is also served at the root. */
  @IsOptional() @IsDnsLabel() rootRegistry: string | null = null;
  @IsOptional() @ValidateNested() @Type(() => DatabaseSettings) database: DatabaseSettings | null = null;
  @ValidateNested() @Type(() => CorsSettings) cors = new CorsSettings();
  @ValidateNested() @Type(() => SearchSettings) search = new SearchSettings();
  @IsBoolean() readOnly = false;
  @IsOptional() @IsAbsolutePath() adminFileRoot?: string;
  @IsOptional()
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => AdminFileRootItem)
  adminFileRoots?: AdminFileRootItem[];
  /** Namespaces for Kubernetes sources created through the API; if empty, none can be created. */
  @IsArray() @IsDnsLabel({ each: true }) @ArrayUnique() adminKubernetesNamespaces: string[] = [];
  /** Whether sources created through the API may be fetched from private addresses. */
  @IsBoolean() adminAllowPrivateIP = false;
  /** Whether registries created through the API may have `anonymous` and `keys`. */
  @IsBoolean() adminOpenAccess = false;
  @ValidateNested() @Type(() => LogSettings) log = new LogSettings();
  @ValidateNested() @Type(() => AuditSettings) audit = new AuditSettings();
  @ValidateNested() @Type(() => TelemetrySettings) telemetry = new TelemetrySettings();
  /** Receivers of audit events. */
  @IsArray()
  @ArrayMaxSize(MAX_WEBHOOKS)
  @HasUniqueNames()
  @ValidateNested({ each: true })
  @Type(() => WebhookItem)
  webhooks: WebhookItem[] = [];
  /** Which versions are admitted, for all sources. */
  @ValidateNested() @Type(() => AdmissionSection) admission = new AdmissionSection();
  @ValidateNested() @Type(() => LimitSettings) limits = new LimitSettings();
  @ValidateNested() @Type(() => ContentSettings) content = new ContentSettings();
  @ValidateNested() @Type(() => ShutdownSettings) shutdown = new ShutdownSettings();
  @ValidateNested() @Type(() => WebSettings) web = new WebSettings();
}

function oneWayToNameRoots({ adminFileRoot, adminFileRoots }: Unchecked<ConfigFile>): Issue[] {
  return adminFileRoot === undefined || adminFileRoots === undefined
    ? []
    : below(['adminFileRoot'], issue('must not be set together with adminFileRoots: add it there'));
}
