import { member } from '../json/json-values.js';
import {
  ApiSettings,
  FileSettings,
  GitSettings,
  KubernetesSettings,
  ManagedSettings,
} from './kind-settings.dto.js';

/** How entries come into a source: by reading it on an interval, by watching it, or by publishing to it. */
type FilledBy = 'sync' | 'watch' | 'publishing';

/** What a file is to a source: what it reads its entries from, or a password, key or token it needs for that. */
export type FileUse = 'content' | 'credential';

/** The settings of type string by their path, such as `auth.passwordFile`. */
type TextPath<S> = {
  [K in keyof S & string]: NonNullable<S[K]> extends string
    ? K
    : NonNullable<S[K]> extends readonly unknown[]
      ? never
      : NonNullable<S[K]> extends object
        ? `${K}.${TextPath<NonNullable<S[K]>>}`
        : never;
}[keyof S & string];

/** Every setting called `…File` must be here, or a source made through the API could name any file of this machine. */
type FilesOf<S> = Readonly<
  Record<Extract<TextPath<Required<S>>, `${string}File`>, FileUse> &
    Partial<Record<TextPath<Required<S>>, FileUse>>
>;

/** All that differs between the kinds of sources, except how they are fetched or watched. */
interface KindRow<S extends object, F extends FilledBy> {
  /** What stands below the kind, as it is written. */
  readonly settings: new () => S;
  readonly filledBy: F;
  /** Do its entries carry the claims of the source (spec §2.4)? If not, each brings its own. */
  readonly inheritsClaims: boolean;
  /** The settings that name files of this machine. */
  readonly files: FilesOf<S>;
  /** The setting that names the host its entries come from, to which its credentials go; null: they come from none. */
  readonly address: TextPath<Required<S>> | null;
}

function kind<S extends object, F extends FilledBy>(
  settings: new () => S,
  row: Omit<KindRow<S, F>, 'settings'>,
): KindRow<S, F> {
  return { settings, ...row };
}

/**
 * The kinds of sources. A further kind is one more row; the compiler then asks for its section in `SourceSettings` and, if
 * it is synced, for its fetcher.
 */
export const KINDS = {
  file: kind(FileSettings, {
    filledBy: 'sync',
    inheritsClaims: true,
    files: { path: 'content' },
    address: 'url',
  }),
  git: kind(GitSettings, {
    filledBy: 'sync',
    inheritsClaims: true,
    files: {
      'auth.passwordFile': 'credential',
      'auth.privateKeyFile': 'credential',
      'auth.knownHostsFile': 'credential',
    },
    address: 'repository',
  }),
  api: kind(ApiSettings, {
    filledBy: 'sync',
    inheritsClaims: true,
    files: { tokenFile: 'credential' },
    address: 'endpoint',
  }),
  managed: kind(ManagedSettings, { filledBy: 'publishing', inheritsClaims: false, files: {}, address: null }),
  kubernetes: kind(KubernetesSettings, {
    filledBy: 'watch',
    inheritsClaims: false,
    files: {},
    address: null,
  }),
};

export type SourceKind = keyof typeof KINDS;

export const SOURCE_KINDS = Object.keys(KINDS) as readonly SourceKind[];

/** The kinds that are read on an interval. */
export type SyncedKind = {
  [K in SourceKind]: (typeof KINDS)[K]['filledBy'] extends 'sync' ? K : never;
}[SourceKind];

/** The settings of a kind as they are written: an instance of its settings class. */
export type WrittenSettings<K extends SourceKind> = InstanceType<(typeof KINDS)[K]['settings']>;

/** Plain data in place of an instance, for reading only. */
type Stored<T> = T extends readonly (infer E)[]
  ? readonly Stored<E>[]
  : T extends object
    ? { readonly [M in keyof T]: Stored<T[M]> }
    : T;

/** The settings of a kind as they are stored: plain data, files by their absolute paths. */
export type SettingsOf<K extends SourceKind> = Stored<WrittenSettings<K>>;

/**
 * The kind of a source in the database.
 *
 * @throws Error for one that has no row here: a newer version of this program has made the source.
 */
export function parseSourceKind(text: string): SourceKind {
  if (!Object.hasOwn(KINDS, text))
    throw new Error(`The database holds a source of kind ${JSON.stringify(text)}, unknown to this version`);
  return text as SourceKind;
}

/** What settings of sources are where they are absent, by kind (contract §2). */
export const DEFAULTS = {
  git: { path: 'registry.json' },
  api: { timeoutMs: 10_000 },
  kubernetes: { relistInterval: '1h' },
} as const;

/** contract §7: may a source not lose most of its entries at once? Those that somebody else's server fills may not. */
export function isGuardedFromShrinking(kind: SourceKind, settings: unknown): boolean {
  return kind === 'api' || (kind === 'file' && member(settings, 'url') !== undefined);
}
