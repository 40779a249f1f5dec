import type { MigrationInterface, QueryRunner } from 'typeorm';
import type { BatchedMigration } from '../../dist/database/migrate.js';

/** Applies one migration in the runner's transaction, with all its batches. */
export async function applyIn(
  runner: QueryRunner,
  migration: MigrationInterface & Partial<BatchedMigration>,
): Promise<void> {
  for (let after: string | null | undefined = null; after !== undefined;)
    after = (await migration.batch?.(runner, after)) ?? undefined;
  await migration.up(runner);
}
