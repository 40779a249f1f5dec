/** The types of entries. A new type also needs a migration of the check constraint on `entry.type`. */
export const ENTRY_TYPE_NAMES = ['server', 'skill', 'plugin'] as const;
export type EntryType = (typeof ENTRY_TYPE_NAMES)[number];

/** The statuses of versions. A new status also needs a migration of the check constraint on `entry_version.status`. */
export type Status = 'active' | 'deprecated' | 'deleted' | 'archived';

/** Every decision that depends on the status of a version. */
interface StatusRow {
  readonly types: Readonly<Record<EntryType, boolean>>;
  /** When consumers see a version (reference/catalog). Access explanations also use it. */
  readonly shown: 'always' | 'with include_deleted' | 'never';
  /** A version for which this is false becomes latest only if the entry has no version for which it is true. */
  readonly mayBeLatest: boolean;
  /** Whether a version counts in shrink checks (reference/documents). */
  readonly isLive: boolean;
  /** Whether a version comes after others of equal relevance (reference/search). */
  readonly isRetired: boolean;
}

const ROWS: Readonly<Record<Status, StatusRow>> = {
  active: {
    types: { server: true, skill: true, plugin: true },
    shown: 'always',
    mayBeLatest: true,
    isLive: true,
    isRetired: false,
  },
  deprecated: {
    types: { server: true, skill: true, plugin: true },
    shown: 'always',
    mayBeLatest: true,
    isLive: true,
    isRetired: true,
  },
  deleted: {
    types: { server: true, skill: false, plugin: false },
    shown: 'with include_deleted',
    mayBeLatest: false,
    isLive: false,
    isRetired: true,
  },
  archived: {
    types: { server: false, skill: true, plugin: true },
    shown: 'always',
    mayBeLatest: true,
    isLive: true,
    isRetired: true,
  },
};

export const STATUSES = Object.keys(ROWS) as readonly Status[];

/** Allow-lists, here and in SQL, so that a status unknown to this version of the program is never included. */
export const SHOWN_STATUSES = STATUSES.filter((status) => ROWS[status].shown === 'always');
export const SHOWN_STATUSES_WITH_DELETED = STATUSES.filter((status) => ROWS[status].shown !== 'never');
/** Statuses that consumers see only with `include_deleted`. */
export const OPTIONAL_STATUSES = SHOWN_STATUSES_WITH_DELETED.filter(
  (status) => !SHOWN_STATUSES.includes(status),
);
export const LATEST_STATUSES = STATUSES.filter((status) => ROWS[status].mayBeLatest);
export const LIVE_STATUSES = STATUSES.filter((status) => ROWS[status].isLive);

/** The status of nearly all versions; the index `entry_version_status` excludes it. */
export const COMMON_STATUS: Status = 'active';

export function isStatus(value: unknown): value is Status {
  return typeof value === 'string' && Object.hasOwn(ROWS, value);
}

/** Returns whether consumers see a version with this status without `include_deleted`. */
export function isShown(status: string | null): boolean {
  return isStatus(status) && ROWS[status].shown === 'always';
}

export function isRetired(status: string): boolean {
  return isStatus(status) && ROWS[status].isRetired;
}

export function statusesOf(type: EntryType): readonly Status[] {
  return STATUSES.filter((status) => ROWS[status].types[type]);
}
