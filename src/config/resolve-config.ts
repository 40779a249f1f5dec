import { realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Claims } from '../claims/claims.js';
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
import { claimRuleOf, groupsLocationOf, type ProviderSettings } from './auth-settings.dto.js';
import type {
  ConfigFile,
  ContentSettings,
  DatabaseSettings,
  LimitSettings,
  RegistryItem,
} from './config-file.dto.js';
import type { RegistryConfig, SourceConfig } from './declared-resources.js';
import { parseDatabaseUrl, TLS_FILES } from './database-settings.js';
import { plain } from '../json/plain.js';
import { isKey, keyDigest, type RegistryKey } from './registry-keys.js';
import { REGISTRY_SETTINGS, type RegistryKeySettings } from './registry-settings.dto.js';
import { belowRootRegistry } from './root-registry.js';
import { webOf } from './web-config.js';
import { parseSecrets } from './webhook-settings.dto.js';

/** The base for relative paths, and the contents of the files that the configuration refers to. */
export interface Files {
  readonly directory: string;
  readonly contents: ReadonlyMap<string, string>;
}

/**
 * Returns the part of the `Config` that comes from the validated file. Durations and sizes become numbers,
 * names of secret files become their contents, and all other settings pass through.
 */
export function resolveConfig({ adminFileRoot, ...file }: ConfigFile, files: Files) {
  const { database, content, shutdown, audit, telemetry: _, ...rest } = file;
  const { notice } = shutdown;
  return plain({
    ...rest,
    auth: authOf(file, files),
    sources: file.sources.map((source) => resolveSource(source.name, source, files.directory)),
    registries: file.registries.map((registry) => registryOf(registry, files)),
    database: database && databaseOf(database, files),
    adminFileRoots: adminFileRootsOf(adminFileRoot, file.adminFileRoots),
    audit: { reads: audit.reads, retentionMs: msOf(audit.retention) },
    webhooks: file.webhooks.map(({ secretFile, retryFor, ...webhook }) => ({
      ...webhook,
      secrets: parseSecrets(contentOf(secretFile, files) ?? ''),
      retryForMs: msOf(retryFor),
    })),
    admission: {
      webhooks: file.admission.webhooks.map(({ secretFile, timeout, ...webhook }) => ({
        ...webhook,
        secrets: parseSecrets(contentOf(secretFile, files) ?? ''),
        timeoutMs: msOf(timeout),
      })),
    },
    limits: limitsOf(file.limits),
    content: contentSettingsOf(content, files),
    shutdown: { noticeMs: notice === undefined ? null : msOf(notice) },
    web: webOf(file.web, file.auth.oauth?.scopesSupported, contentOf(file.web.logo, files)),
  });
}

// reference/configuration: `adminFileRoot` is short for one root that has no claims and whose secrets may be sent to any host.
function adminFileRootsOf(
  root: string | undefined,
  roots: ConfigFile['adminFileRoots'] = [],
): { path: string; claims: Claims; hosts: readonly string[] | null }[] {
  if (root !== undefined) return [{ path: resolve(root), claims: {}, hosts: null }];
  return roots.map(({ path, claims, hosts }) => ({
    path: resolve(path),
    claims,
    hosts: hosts.flatMap((name) => parseHost(name) ?? []),
  }));
}

function authOf(
  { auth: { oauth, ...auth }, rootRegistry }: Pick<ConfigFile, 'auth' | 'rootRegistry'>,
  files: Files,
) {
  const providers = oauth?.providers.map((provider) => providerOf(provider, files)) ?? [];
  // Requests at the root are compared by their path below the registry.
  const publicPaths = oauth?.publicPaths.map((path) => belowRootRegistry(path, rootRegistry)) ?? [];
  return { ...auth, oauth: oauth && { ...oauth, providers, publicPaths } };
}

function providerOf(provider: ProviderSettings, files: Files) {
  const { clientSecretFile, caCertPath, authTokenFile, claims, clockTolerance, groups, ...rest } = provider;
  return {
    ...rest,
    /** The content of `clientSecretFile`, read at startup. */
    clientSecret: contentOf(clientSecretFile, files),
    /** The content of `caCertPath`, read at startup: PEM. */
    caCert: contentOf(caCertPath, files),
    /** A path, because the file is read again for each request (reference/authentication). */
    authTokenFile: authTokenFile === undefined ? undefined : resolve(files.directory, authTokenFile),
    /** Claim mapping; if absent, all claims stay unchanged. */
    claims: claims?.map(claimRuleOf),
    /** Tolerance for `exp` and `nbf`. */
    clockToleranceMs: msOf(clockTolerance),
    /** Where to fetch groups that a token omits; if absent, such tokens are refused. */
    groups: groups && groupsLocationOf(groups),
  };
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

function databaseOf(settings: DatabaseSettings, files: Files) {
  const { url, host = 'localhost', port = 5432, user = '', database = '', pool } = settings;
  const parsed = url === undefined ? undefined : parseDatabaseUrl(url);
  if (typeof parsed === 'string') throw new Error('An invalid database URL passed validation');
  const { unused: _, ...parts } = parsed ?? { unused: [] };
  return {
    host,
    port,
    user,
    database,
    tls: tlsOf(settings, files),
    password: settings.password ?? contentOf(settings.passwordFile, files),
    ...parts,
    poolMax: pool.max,
    migration:
      settings.migrationUser === undefined
        ? undefined
        : {
            user: settings.migrationUser,
            password: settings.migrationPassword ?? contentOf(settings.migrationPasswordFile, files),
          },
  };
}

function tlsOf(settings: DatabaseSettings, files: Files): DatabaseTls | undefined {
  if (settings.sslMode === undefined) return undefined;
  const [rootCert, cert, key] = TLS_FILES.map((name) => contentOf(settings[name], files));
  return { mode: settings.sslMode, rootCert, cert, key };
}

function limitsOf({ bytesPerEntry, publisherMeta, searchIndexBytes, keepAlive, ...counts }: LimitSettings) {
  return {
    ...counts,
    bytesPerEntry: bytesOf(bytesPerEntry),
    publisherMeta: bytesOf(publisherMeta),
    searchIndexBytes: bytesOf(searchIndexBytes),
    keepAliveMs: msOf(keepAlive),
  };
}

function contentSettingsOf({ fetch, maxBytesPerVersion, maxBytes }: ContentSettings, files: Files) {
  const hosts = (fetch?.hosts ?? []).map((item) => (typeof item === 'string' ? { host: item } : item));
  return {
    /** Hosts from which content may be fetched, with a port where one was given: `host` or `host:port`. */
    fetchHosts: hosts.flatMap(({ host }) => parseHostAndPort(host) ?? []),
    /** The accounts at some of these hosts. */
    fetchAccounts: hosts.flatMap(({ host, auth }) => {
      const password = contentOf(auth?.passwordFile, files);
      const name = parseHostAndPort(host);
      return auth && name !== undefined && password !== undefined
        ? [{ host: name, username: auth.username, password }]
        : [];
    }),
    maxBytesPerVersion: bytesOf(maxBytesPerVersion),
    maxBytes: bytesOf(maxBytes),
  };
}

/** @throws Error for a duration that did not pass validation. */
function msOf(duration: string): number {
  return valid(parseDuration(duration, 0));
}

/** @throws Error for a size that did not pass validation. */
function bytesOf(size: string): number {
  return valid(parseSize(size));
}

function valid(value: number | undefined): number {
  if (value === undefined) throw new Error('An invalid duration or size passed validation');
  return value;
}

function contentOf(name: string | undefined, files: Files): string | undefined {
  return name === undefined ? undefined : files.contents.get(resolve(files.directory, name));
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
