import { InitialSchema1795780800000 } from './1795780800000-initial-schema.js';

/**
 * Every migration, oldest first. Never edit a released migration: a change is a new file. A migration whose
 * `down` loses data names that data in `loses`. Until 1.0 is released, edit the initial schema instead, and
 * record its data again as test/api/migrations.first-schema.spec.ts says.
 *
 * Each runs in one transaction, which starts again if it cannot get a lock soon. After a statement that locks readers
 * out of an existing table (`alter table`, `truncate`, `drop`) or writers (`lock table`, `create trigger`, `create index`),
 * only instant ones may follow: long work such as an index or a validation comes first or is a separate migration.
 */
export const migrations = [InitialSchema1795780800000];
