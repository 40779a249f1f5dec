import { InitialSchema1795802400000 } from './1795802400000-initial-schema.js';

/**
 * Every migration, oldest first. Never edit a released migration: a change is a new file, and file and class are named
 * after the change and the current time in milliseconds. A migration whose `down` loses data describes that data in `loses`.
 *
 * Replicas of the previous version keep reading and writing the migrated tables: a new column is nullable or has a
 * default, and a column that they use stays.
 *
 * Each runs in one transaction, which starts again if it cannot get a lock soon. After a statement that locks readers
 * out of an existing table (`alter table`, `truncate`, `drop`) or writers (`lock table`, `create trigger`, `create index`),
 * only instant ones may follow: long work such as an index or a validation comes first or is a separate migration.
 */
export const migrations = [InitialSchema1795802400000];
