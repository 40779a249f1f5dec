import { addressOf, DatabaseStartError, type Where } from './start-error.js';

/** The oldest PostgreSQL, by its major version. */
const OLDEST = 14;

/** @throws DatabaseStartError for a version before the oldest that is supported. */
export function checkServerVersion(versionNumber: number, where: Where): void {
  const major = Math.floor(versionNumber / 10_000);
  if (major < OLDEST)
    throw new DatabaseStartError(
      `The database ${addressOf(where)} is PostgreSQL ${major}: this server needs ${OLDEST} or newer`,
    );
}
