import { lstat, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path';
import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import type { Caller } from '../auth/caller.js';
import { AccessPolicy } from '../authz/access-policy.js';
import type { Claims } from '../claims/claims.js';
import type { AdminFileRoot } from '../config/config.js';
import { adminSourcesConfig } from '../config/slices.js';
import { ApiError } from '../http/errors.js';
import { elements, member } from '../json/json-values.js';
import { type FileUse, KINDS, type SourceKind } from '../source-kinds/kinds.js';
import { hostOf, namedFiles } from '../source-kinds/named-files.js';

/** Maximum size of a file that a source created through the API may read (reference/sources). */
const MAX_ADMIN_FILE_BYTES = 64 * 1024 * 1024;

/** Maximum length of the settings of a source or registry created through the API, as JSON (reference/limits). */
const MAX_SETTINGS_BYTES = 64 * 1024;

/**
 * Checks the length of the settings in a body.
 *
 * @param ignored members that are not settings.
 * @throws ApiError 400 `settings_too_long`.
 */
export function checkSettingsLength(body: object, ignored: readonly string[]): void {
  const settings = Object.entries(body).filter(([name]) => !ignored.includes(name));
  if (Buffer.byteLength(JSON.stringify(Object.fromEntries(settings))) > MAX_SETTINGS_BYTES)
    throw new ApiError('settings_too_long');
}

/** A source that reads a file. */
export interface ReadingSource {
  readonly kind: SourceKind;
  readonly settings: object;
  readonly claims: Claims;
}

/**
 * Checks which local files a source created through the API may read, and where its secrets may be sent (reference/sources).
 * The rules of the deepest `adminFileRoots` entry that contains the path apply. The checks run when a source is created
 * or replaced, and again in each sync, because the configuration, the claims and the file at the path may have changed.
 */
@Injectable()
export class AdminFiles {
  private readonly roots: readonly AdminFileRoot[];

  constructor(
    @Inject(adminSourcesConfig.KEY) { adminFileRoots }: ConfigType<typeof adminSourcesConfig>,
    private readonly policy: AccessPolicy,
  ) {
    this.roots = adminFileRoots;
  }

  /** The base directory for relative paths: the only root, otherwise `/`. */
  get directory(): string {
    const [root, ...others] = this.roots;
    return root && others.length === 0 ? root.path : '/';
  }

  /** Whether the sources that the caller configures may read any file. */
  allowsAny(caller: Caller): boolean {
    return this.roots.some(({ claims }) => this.policy.mayRead(caller, claims));
  }

  /**
   * Checks every file that a source refers to. A file that does not exist yet is allowed.
   *
   * @throws ApiError 400 `path_not_allowed`.
   */
  async checkPut(caller: Caller, source: ReadingSource): Promise<void> {
    for (const { name, use } of namedFiles(source.kind, source.settings))
      if (typeof name === 'string') await this.check(name, use, source, caller);
  }

  /**
   * Resolves symbolic links, then checks that the path is inside a root, that the source and the caller may read from
   * it, and that the path is a regular file of at most 64 MiB.
   *
   * The error for a forbidden path does not reveal whether the path exists.
   *
   * @param caller the caller who configures the path; absent during a sync.
   * @returns the resolved path. Open this path, because links may change.
   * @throws ApiError 400 `path_not_allowed`.
   */
  async check(path: string, use: FileUse, source: ReadingSource, caller?: Caller): Promise<string> {
    if (this.roots.length === 0)
      throw new ApiError(
        'path_not_allowed',
        'Sources created through the API cannot read files: the configuration has no adminFileRoots',
      );
    const absolute = resolve(this.directory, path);
    const root = path.includes('\0') ? undefined : deepest(this.roots, absolute);
    if (!root || (caller && !this.policy.mayRead(caller, root.claims)))
      throw new ApiError('path_not_allowed');
    this.checkSource(root, use, source);
    const target = await resolveLinks(absolute);
    if (deepest(await this.realRoots(), target.real)?.path !== root.path)
      throw new ApiError('path_not_allowed');
    if (target.exists) await checkRegular(target.real);
    return target.real;
  }

  private checkSource(root: AdminFileRoot, use: FileUse, { kind, settings, claims }: ReadingSource): void {
    if (!this.policy.keepsWithin(claims, root.claims))
      throw new ApiError(
        'path_not_allowed',
        `Entries from this directory require its claims: give the source the claims ${JSON.stringify(root.claims)}`,
      );
    if (use !== 'credential' || root.hosts === null) return;
    const host = hostOf(kind, settings);
    if (host !== null && root.hosts.includes(host)) return;
    throw new ApiError(
      'path_not_allowed',
      root.hosts.length === 0
        ? 'Secrets below this directory cannot be sent to any host: an operator must list hosts for it in adminFileRoots'
        : `adminFileRoots allows sending secrets below this directory only to ${root.hosts.join(', ')}`,
    );
  }

  private realRoots(): Promise<(AdminFileRoot & { real: string })[]> {
    return Promise.all(
      this.roots.map(async (root) => ({ ...root, real: await realpath(root.path).catch(() => root.path) })),
    );
  }
}

// Roots may be nested, so the most specific root decides.
function deepest<R extends AdminFileRoot & { readonly real?: string }>(
  roots: readonly R[],
  path: string,
): R | undefined {
  const directory = (root: R) => root.real ?? root.path;
  return roots
    .filter((root) => isBelow(directory(root), path))
    .reduce<R | undefined>(
      (found, root) => (found && directory(found).length >= directory(root).length ? found : root),
      undefined,
    );
}

/** Returns whether the path is inside the directory. Both paths are absolute; links are not followed. */
function isBelow(directory: string, path: string): boolean {
  const inside = relative(directory, path);
  return inside !== '' && inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
}

async function checkRegular(path: string): Promise<void> {
  const file = await stat(path).catch(() => undefined);
  if (file && !file.isFile()) throw new ApiError('path_not_allowed', 'The path is not a regular file');
  if (file && file.size > MAX_ADMIN_FILE_BYTES)
    throw new ApiError('path_not_allowed', 'The file is larger than 64 MiB, the maximum');
}

async function isLink(path: string): Promise<boolean> {
  return lstat(path).then(
    (file) => file.isSymbolicLink(),
    () => false,
  );
}

// Resolves symbolic links in the part of the path that exists.
async function resolveLinks(path: string): Promise<{ real: string; exists: boolean }> {
  for (let part = path; ; part = dirname(part)) {
    const real = await realpath(part).catch(() => undefined);
    // The target of a dangling link may be created later.
    if (real === undefined && (await isLink(part))) throw new ApiError('path_not_allowed');
    if (real !== undefined) return { real: resolve(real, relative(part, path)), exists: part === path };
    if (part === dirname(part)) return { real: path, exists: false };
  }
}

/**
 * Checks that a source created through the API lists its namespaces, and that all are in `adminKubernetesNamespaces`
 * (reference/configuration). The check runs when a source is created or replaced, and again when its watch starts.
 */
@Injectable()
export class AdminNamespaces {
  constructor(
    @Inject(adminSourcesConfig.KEY) private readonly limits: ConfigType<typeof adminSourcesConfig>,
  ) {}

  /** Whether the API may create sources of this kind. */
  allows(kind: SourceKind): boolean {
    return KINDS[kind].namespaces === null || this.limits.adminKubernetesNamespaces.length > 0;
  }

  /** @throws ApiError 400 `namespace_not_allowed`. */
  check(source: Pick<ReadingSource, 'kind' | 'settings'>): void {
    const refusal = this.findRefusal(source);
    if (refusal !== undefined) throw new ApiError('namespace_not_allowed', refusal);
  }

  /** Returns why the source is not allowed to watch its namespaces, as a sentence; undefined if it is allowed. */
  findRefusal({ kind, settings }: Pick<ReadingSource, 'kind' | 'settings'>): string | undefined {
    const key = KINDS[kind].namespaces;
    if (key === null) return undefined;
    const allowed = this.limits.adminKubernetesNamespaces;
    const namespaces = elements(member(settings, key));
    if (allowed.length === 0)
      return `The API cannot create sources of kind ${kind}: the configuration has no adminKubernetesNamespaces`;
    if (namespaces.length === 0)
      return `A source of kind ${kind} created through the API must list its namespaces, from adminKubernetesNamespaces`;
    const refused = namespaces.filter((namespace) => !allowed.includes(String(namespace)));
    return refused.length === 0
      ? undefined
      : `Not in adminKubernetesNamespaces, so not allowed for sources created through the API: ${refused.join(', ')}`;
  }
}
