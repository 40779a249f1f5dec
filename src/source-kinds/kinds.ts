import { member } from '../json/json-values.js';
import type { Plain } from '../json/plain.js';
import {
  ApiSettings,
  FileSettings,
  GitSettings,
  KubernetesSettings,
  ManagedSettings,
} from './kind-settings.dto.js';

/** How entries get into a source: by reading it at an interval, by watching it, or by publishing to it. */
type FilledBy = 'sync' | 'watch' | 'publishing';

/** What a source uses a file for: reading its entries, or a password, key or token. */
export type FileUse = 'content' | 'credential';

/** Paths of the settings that are strings, such as `auth.passwordFile`. */
type TextPath<S> = {
  [K in keyof S & string]: NonNullable<S[K]> extends string
    ? K
    : NonNullable<S[K]> extends readonly unknown[]
      ? never
      : NonNullable<S[K]> extends object
        ? `${K}.${TextPath<NonNullable<S[K]>>}`
        : never;
}[keyof S & string];

/**
 * Every setting called `…File` must be listed here. Otherwise a source created through the API could name any local
 * file.
 */
type FilesOf<S> = Readonly<
  Record<Extract<TextPath<Required<S>>, `${string}File`>, FileUse> &
    Partial<Record<TextPath<Required<S>>, FileUse>>
>;

/** Every decision that depends on the kind of a source, except how the source is fetched or watched. */
interface KindRow<S extends object, F extends FilledBy, D extends object> {
  /** The class of the kind's settings. */
  readonly settings: new () => S;
  readonly filledBy: F;
  /** What a sync reads, for use in messages. */
  readonly content: 'file' | 'registry' | 'cluster' | null;
  /** Whether entries carry the claims of the source (reference/access) or their own claims. */
  readonly inheritsClaims: boolean;
  /** The settings that name local files. */
  readonly files: FilesOf<S>;
  /** The setting with the host that serves the source and receives its credentials; null if there is none. */
  readonly address: TextPath<Required<S>> | null;
  /** The setting with cluster namespaces, which are restricted for sources created through the API (reference/configuration). */
  readonly namespaces: (keyof S & string) | null;
  /**
   * Whether a sync that would lose most entries is refused (reference/sources); only for sources read from another server. If
   * this is the path of a setting, only sources with that setting are guarded.
   */
  readonly shrinkGuard: boolean | TextPath<Required<S>>;
  /** Defaults of optional settings (reference/configuration). */
  readonly defaults: D;
}

function kind<S extends object, F extends FilledBy, D extends object>(
  settings: new () => S,
  row: Omit<KindRow<S, F, D>, 'settings'>,
): KindRow<S, F, D> {
  return { settings, ...row };
}

/**
 * The kinds of sources. A new kind needs a new row and a migration of the check constraint on `source.kind`; the
 * compiler then requires its section in `SourceSettings`, its example, its fetcher or watcher, and its form in the web
 * UI.
 */
export const KINDS = {
  file: kind(FileSettings, {
    filledBy: 'sync',
    content: 'file',
    inheritsClaims: true,
    files: { path: 'content' },
    address: 'url',
    namespaces: null,
    shrinkGuard: 'url',
    defaults: {},
  }),
  git: kind(GitSettings, {
    filledBy: 'sync',
    content: 'file',
    inheritsClaims: true,
    files: {
      'auth.passwordFile': 'credential',
      'auth.privateKeyFile': 'credential',
      'auth.knownHostsFile': 'credential',
    },
    address: 'repository',
    namespaces: null,
    shrinkGuard: false,
    defaults: {},
  }),
  api: kind(ApiSettings, {
    filledBy: 'sync',
    content: 'registry',
    inheritsClaims: true,
    files: { tokenFile: 'credential' },
    address: 'endpoint',
    namespaces: null,
    shrinkGuard: true,
    defaults: { timeoutMs: 10_000 },
  }),
  managed: kind(ManagedSettings, {
    filledBy: 'publishing',
    content: null,
    inheritsClaims: false,
    files: {},
    address: null,
    namespaces: null,
    shrinkGuard: false,
    defaults: {},
  }),
  kubernetes: kind(KubernetesSettings, {
    filledBy: 'watch',
    content: 'cluster',
    inheritsClaims: false,
    files: {},
    address: null,
    namespaces: 'namespaces',
    shrinkGuard: false,
    defaults: { relistInterval: '1h' },
  }),
};

export type SourceKind = keyof typeof KINDS;

export const SOURCE_KINDS = Object.keys(KINDS) as readonly SourceKind[];

type KindFilledBy<F extends FilledBy> = {
  [K in SourceKind]: (typeof KINDS)[K]['filledBy'] extends F ? K : never;
}[SourceKind];

/** The kinds that are read at an interval. */
export type SyncedKind = KindFilledBy<'sync'>;
/** The kinds that are watched. */
export type WatchedKind = KindFilledBy<'watch'>;

export const WATCHED_KINDS = SOURCE_KINDS.filter((kind) => KINDS[kind].filledBy === 'watch');

/**
 * The only kind filled by publishing: a second such kind would not compile, because there is at most one managed
 * source.
 */
export const MANAGED_KIND: KindFilledBy<'publishing'> extends 'managed' ? 'managed' : never = 'managed';

/** The settings of a kind as written in the configuration: an instance of its settings class. */
export type WrittenSettings<K extends SourceKind> = InstanceType<(typeof KINDS)[K]['settings']>;

/** The settings of a kind as stored: plain data with absolute file paths. */
export type SettingsOf<K extends SourceKind> = Plain<WrittenSettings<K>>;

/**
 * Parses the kind of a stored source.
 *
 * @throws Error for an unknown kind, which means that a newer version of this program created the source.
 */
export function parseSourceKind(text: string): SourceKind {
  if (!Object.hasOwn(KINDS, text))
    throw new Error(`The database holds a source of kind ${JSON.stringify(text)}, unknown to this version`);
  return text as SourceKind;
}

/** Returns whether a sync that would lose most entries of the source is refused (reference/sources). */
export function isGuardedFromShrinking(kind: SourceKind, settings: unknown): boolean {
  const { shrinkGuard } = KINDS[kind];
  return typeof shrinkGuard === 'string' ? member(settings, shrinkGuard) !== undefined : shrinkGuard;
}

/** The sources with a shrink guard, as spelled in the configuration: `file.url`, `api`. */
export const GUARDED_SOURCES = SOURCE_KINDS.flatMap((kind) => {
  const { shrinkGuard } = KINDS[kind];
  if (typeof shrinkGuard === 'string') return [`${kind}.${shrinkGuard}`];
  return shrinkGuard ? [kind] : [];
});
