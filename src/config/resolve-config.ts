import { realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { DatabaseTls } from '../database/tls.js';
import { elements, member } from '../json/json-values.js';
import type { SourceKind } from '../source-kinds/kinds.js';
import { storedSettings } from '../source-kinds/named-files.js';
import { toStored } from '../source-kinds/settings-table.js';
import {
  kindOf,
  type KindSections,
  SOURCE_SETTINGS,
  type SourceSettings,
} from '../source-kinds/source-settings.dto.js';
import type { Unchecked } from '../validation/class-validation.js';
import { parseHost, parseHostAndPort } from '../validation/urls.js';
import { below, type Issue, issue, parseDuration, parseSize, type Path } from '../validation/value-checks.js';
import {
  type AuthSettings,
  claimRuleOf,
  groupsLocationOf,
  type ProviderSettings,
} from './auth-settings.dto.js';
import type {
  AuditSettings,
  ConfigFile,
  ContentSettings,
  DatabaseSettings,
  LimitSettings,
  RegistryItem,
  ShutdownSettings,
} from './config-file.dto.js';
import type {
  AdminFileRoot,
  AdmissionWebhookConfig,
  AuditConfig,
  AuthConfig,
  Config,
  ContentConfig,
  DatabaseConfig,
  LimitsConfig,
  ProviderConfig,
  RegistryConfig,
  ShutdownConfig,
  SourceConfig,
  WebhookConfig,
} from './config.js';
import { type DatabaseUrl, parseDatabaseUrl } from './database-settings.js';
import { DEFAULTS } from './defaults.js';
import { isKey, keyDigest, type RegistryKey } from './registry-keys.js';
import { REGISTRY_SETTINGS, type RegistryKeySettings } from './registry-settings.dto.js';
import { webOf } from './web-config.js';
import {
  type AdmissionWebhookItem,
  ASKED_ABOUT,
  parseSecrets,
  type WebhookItem,
} from './webhook-settings.dto.js';

/** The base for relative paths, and the contents of the files named in the configuration. */
export interface Files {
  readonly directory: string;
  readonly contents: ReadonlyMap<string, string>;
}

/** Returns the part of the `Config` that comes from the validated file, with defaults. */
export function resolveConfig(
  file: ConfigFile,
  files: Files,
): Pick<
  Config,
  | 'auth'
  | 'sources'
  | 'registries'
  | 'rootRegistry'
  | 'database'
  | 'cors'
  | 'search'
  | 'readOnly'
  | 'audit'
  | 'webhooks'
  | 'admission'
  | 'limits'
  | 'content'
  | 'shutdown'
  | 'adminFileRoots'
  | 'adminAllowPrivateIP'
  | 'adminOpenAccess'
  | 'adminKubernetesNamespaces'
  | 'log'
  | 'web'
> {
  const auth = authOf(file.auth, files);
  return {
    auth,
    sources: (file.sources ?? []).map((source) => resolveSource(source.name, source, files.directory)),
    registries: (file.registries ?? []).map((registry) => registryOf(registry, files)),
    rootRegistry: file.rootRegistry ?? null,
    database: file.database ? databaseOf(file.database, files) : null,
    cors: { origins: file.cors?.origins ?? DEFAULTS.cors.origins },
    search: { synonyms: file.search?.synonyms ?? [] },
    readOnly: file.readOnly ?? DEFAULTS.readOnly,
    adminFileRoots: adminFileRootsOf(file),
    adminOpenAccess: file.adminOpenAccess ?? DEFAULTS.adminOpenAccess,
    adminAllowPrivateIP: file.adminAllowPrivateIP ?? DEFAULTS.adminAllowPrivateIP,
    adminKubernetesNamespaces: file.adminKubernetesNamespaces ?? [],
    audit: auditOf(file.audit),
    webhooks: (file.webhooks ?? []).map((webhook) => webhookOf(webhook, files)),
    admission: {
      webhooks: (file.admission?.webhooks ?? []).map((webhook) => admissionWebhookOf(webhook, files)),
    },
    log: { level: file.log?.level ?? DEFAULTS.log.level, format: file.log?.format ?? null },
    limits: limitsOf(file.limits),
    content: contentSettingsOf(file.content),
    shutdown: shutdownOf(file.shutdown),
    web: webOf(file.web, auth.oauth?.scopesSupported, contentOf(file.web?.logo, files)),
  };
}

// reference/configuration: `adminFileRoot` is short for one root that has no claims and whose secrets may be sent to any host.
function adminFileRootsOf({ adminFileRoot, adminFileRoots = [] }: ConfigFile): AdminFileRoot[] {
  if (adminFileRoot !== undefined) return [{ path: resolve(adminFileRoot), claims: {}, hosts: null }];
  return adminFileRoots.map(({ path, claims = {}, hosts = [] }) => ({
    path: resolve(path),
    claims,
    hosts: hosts.flatMap((name) => parseHost(name) ?? []),
  }));
}

function authOf({ mode = DEFAULTS.auth.mode, oauth, authz }: AuthSettings, files: Files): AuthConfig {
  return compact({
    mode,
    oauth: oauth && {
      resourceUrl: oauth.resourceUrl,
      realm: oauth.realm ?? DEFAULTS.auth.realm,
      scopesSupported: oauth.scopesSupported ?? DEFAULTS.auth.scopesSupported,
      publicPaths: oauth.publicPaths ?? [],
      ...compact({ resourceDocumentation: oauth.resourceDocumentation }),
      providers: oauth.providers.map((provider) => providerOf(provider, files)),
      blocked: (oauth.blocked ?? []).map(({ issuer, subject }) => compact({ issuer, subject })),
    },
    authz: authz && {
      roles: {
        superAdmin: authz.roles.superAdmin ?? [],
        manageSources: authz.roles.manageSources ?? [],
        manageRegistries: authz.roles.manageRegistries ?? [],
        manageEntries: authz.roles.manageEntries ?? [],
      },
      policy: {
        arrayValues: authz.policy?.arrayValues ?? DEFAULTS.policy.arrayValues,
        unlabeled: authz.policy?.unlabeled ?? DEFAULTS.policy.unlabeled,
        registryListing: authz.policy?.registryListing ?? DEFAULTS.policy.registryListing,
      },
    },
  });
}

function providerOf(provider: ProviderSettings, files: Files): ProviderConfig {
  return compact({
    name: provider.name,
    issuerUrl: provider.issuerUrl,
    audience: provider.audience,
    jwksUrl: provider.jwksUrl,
    introspectionUrl: provider.introspectionUrl,
    clientId: provider.clientId,
    clientSecret: contentOf(provider.clientSecretFile, files),
    caCert: contentOf(provider.caCertPath, files),
    authTokenFile: absolute(provider.authTokenFile, files),
    allowPrivateIP: provider.allowPrivateIP ?? false,
    claims: provider.claims?.map(claimRuleOf),
    displayName: provider.displayName,
    introspection: provider.introspection ?? DEFAULTS.auth.introspection,
    tokenPrefix: provider.tokenPrefix,
    idTokens: provider.idTokens ?? DEFAULTS.auth.idTokens,
    clockToleranceMs: parseDuration(provider.clockTolerance ?? DEFAULTS.auth.clockTolerance, 0) ?? 0,
    groups: provider.groups && groupsLocationOf(provider.groups),
    connectOrigins: provider.connectOrigins ?? [],
  });
}

/**
 * Converts validated settings into the stored form of a source.
 *
 * @param directory Base for relative paths.
 */
export function resolveSource(name: string, settings: SourceSettings, directory: string): SourceConfig {
  return sourceOfKind(kindOf(settings), name, settings, directory);
}

function sourceOfKind<K extends SourceKind>(
  kind: K,
  name: string,
  written: SourceSettings,
  directory: string,
): SourceConfig<K> {
  const section = (written satisfies KindSections as KindSections)[kind];
  if (section === undefined) throw new Error(`A source of kind ${kind} has no ${kind} section`);
  return {
    name,
    kind,
    settings: storedSettings(kind, section, (file) => resolve(directory, file)),
    claims: written.claims ?? {},
    ...toStored(SOURCE_SETTINGS, written),
  };
}

function registryOf(registry: RegistryItem, files: Files): RegistryConfig {
  const { name, sources, claims = {} } = registry;
  const keys = registry.keys?.map((key) =>
    registryKeyOf(key, resolve(files.directory, key.secretFile), contentOf(key.secretFile, files) ?? ''),
  );
  return { name, sources, claims, ...toStored(REGISTRY_SETTINGS, { ...registry, keys }) };
}

/**
 * Converts validated settings into the stored form of a key.
 *
 * @param content Validated content of the key's file.
 */
export function registryKeyOf(
  { name, claims, expires }: RegistryKeySettings,
  secretFile: string,
  content: string,
): RegistryKey {
  if (!isKey(content)) throw new Error('A file without a key passed validation');
  return { name, digest: keyDigest(content), secretFile, claims, expires: expires ?? null };
}

function databaseOf(settings: DatabaseSettings, files: Files): DatabaseConfig {
  const { pool, migrationUser, migrationPassword, migrationPasswordFile } = settings;
  const password = settings.password ?? contentOf(settings.passwordFile, files);
  const migration = migrationUser !== undefined && {
    user: migrationUser,
    password: migrationPassword ?? contentOf(migrationPasswordFile, files),
  };
  return compact({
    host: settings.host ?? DEFAULTS.database.host,
    port: settings.port ?? DEFAULTS.database.port,
    user: settings.user ?? '',
    database: settings.database ?? '',
    tls: tlsOf(settings, files),
    ...(settings.url === undefined ? {} : partsOf(settings.url)),
    ...compact({ password }),
    poolMax: pool?.max ?? DEFAULTS.database.poolMax,
    migration: migration ? compact(migration) : undefined,
  });
}

function partsOf(url: string): Omit<DatabaseUrl, 'unused'> {
  const parsed = parseDatabaseUrl(url);
  if (typeof parsed === 'string') throw new Error('An invalid database URL passed validation');
  const { host, port, user, database, password, tls } = parsed;
  return { host, port, user, database, ...compact({ password, tls }) };
}

function tlsOf(
  { sslMode, sslRootCertFile, sslCertFile, sslKeyFile }: DatabaseSettings,
  files: Files,
): DatabaseTls | undefined {
  return (
    sslMode &&
    compact({
      mode: sslMode,
      rootCert: contentOf(sslRootCertFile, files),
      cert: contentOf(sslCertFile, files),
      key: contentOf(sslKeyFile, files),
    })
  );
}

function auditOf({
  reads = DEFAULTS.audit.reads,
  retention = DEFAULTS.audit.retention,
}: AuditSettings = {}): AuditConfig {
  return { reads, retentionMs: parseDuration(retention) ?? 0 };
}

function webhookOf(
  { name, url, secretFile, actions, retryFor, as }: WebhookItem,
  files: Files,
): WebhookConfig {
  return {
    name,
    url,
    secrets: parseSecrets(contentOf(secretFile, files) ?? ''),
    actions: actions ?? null,
    retryForMs: parseDuration(retryFor ?? DEFAULTS.webhooks.retryFor) ?? 0,
    as: as ? { claims: as.claims, registry: as.registry ?? null } : null,
  };
}

function admissionWebhookOf(
  { name, url, secretFile, on, timeout, onFailure }: AdmissionWebhookItem,
  files: Files,
): AdmissionWebhookConfig {
  const { admissionWebhooks } = DEFAULTS;
  return {
    name,
    url,
    secrets: parseSecrets(contentOf(secretFile, files) ?? ''),
    on: on ?? ASKED_ABOUT,
    timeoutMs: parseDuration(timeout ?? admissionWebhooks.timeout) ?? 0,
    onFailure: onFailure ?? admissionWebhooks.onFailure,
  };
}

function limitsOf(limits: LimitSettings = {}): LimitsConfig {
  return {
    searchesPerCaller: limits.searchesPerCaller ?? DEFAULTS.limits.searchesPerCaller,
    requestsInFlight: limits.requestsInFlight ?? DEFAULTS.limits.requestsInFlight,
    connections: limits.connections ?? DEFAULTS.limits.connections,
    claimSetsPerSource: limits.claimSetsPerSource ?? DEFAULTS.limits.claimSetsPerSource,
    mebibytesPerFile: limits.mebibytesPerFile ?? DEFAULTS.limits.mebibytesPerFile,
    versionsPerEntry: limits.versionsPerEntry ?? DEFAULTS.limits.versionsPerEntry,
    bytesPerEntry: parseSize(limits.bytesPerEntry ?? DEFAULTS.limits.bytesPerEntry) ?? 0,
    publisherMeta: parseSize(limits.publisherMeta ?? DEFAULTS.limits.publisherMeta) ?? 0,
    apiSources: limits.apiSources ?? DEFAULTS.limits.apiSources,
    apiRegistries: limits.apiRegistries ?? DEFAULTS.limits.apiRegistries,
    changesPerMinute: limits.changesPerMinute ?? DEFAULTS.limits.changesPerMinute,
    searchIndexBytes: parseSize(limits.searchIndexBytes ?? DEFAULTS.limits.searchIndexBytes) ?? 0,
    keepAliveMs: parseDuration(limits.keepAlive ?? DEFAULTS.limits.keepAlive) ?? 0,
  };
}

function contentSettingsOf({ fetch, maxBytesPerVersion, maxBytes }: ContentSettings = {}): ContentConfig {
  return {
    fetchHosts: (fetch?.hosts ?? []).flatMap((name) => parseHostAndPort(name) ?? []),
    maxBytesPerVersion: parseSize(maxBytesPerVersion ?? DEFAULTS.content.maxBytesPerVersion) ?? 0,
    maxBytes: parseSize(maxBytes ?? DEFAULTS.content.maxBytes) ?? 0,
  };
}

function shutdownOf({ notice }: ShutdownSettings = {}): ShutdownConfig {
  return { noticeMs: notice === undefined ? null : (parseDuration(notice, 0) ?? 0) };
}

function absolute(name: string | undefined, { directory }: Files): string | undefined {
  return name === undefined ? undefined : resolve(directory, name);
}

function contentOf(name: string | undefined, files: Files): string | undefined {
  return name === undefined ? undefined : files.contents.get(resolve(files.directory, name));
}

type Compact<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** Removes members that are undefined: settings absent from the file are absent from the result. */
function compact<T extends object>(value: T): Compact<T> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Compact<T>;
}

/** Checks that each admin file root is a directory and listed only once. */
export function adminFileRoots(file: Unchecked<ConfigFile>): Issue[] {
  const named: [Path, unknown][] = [
    [['adminFileRoot'], file.adminFileRoot],
    ...elements(file.adminFileRoots).map((root, position): [Path, unknown] => [
      ['adminFileRoots', position, 'path'],
      member(root, 'path'),
    ]),
  ];
  const known = new Set<string>();
  return named.flatMap(([path, directory]) => {
    if (typeof directory !== 'string' || !directory.startsWith('/') || directory.includes('\0')) return [];
    const isDirectory = statSync(directory, { throwIfNoEntry: false })?.isDirectory() ?? false;
    if (!isDirectory) return below(path, issue('is not a directory'));
    // Two entries for one directory could have different claims.
    const real = realpathSync(directory);
    if (known.has(real)) return below(path, issue(`${JSON.stringify(directory)} is already in the list`));
    known.add(real);
    return [];
  });
}
