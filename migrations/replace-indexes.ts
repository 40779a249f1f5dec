import type { QueryRunner } from 'typeorm';

/**
 * Builds all indexes under other names before they replace the present ones: only the replacement locks readers out.
 * @param indexes table, columns and condition of each, by name, such as `audit_event (action, id)`.
 */
export async function replaceIndexes(
  runner: QueryRunner,
  indexes: Readonly<Record<string, string>>,
): Promise<void> {
  for (const [name, columns] of Object.entries(indexes))
    await runner.query(`create index ${name}_next on ${columns}`);
  for (const name of Object.keys(indexes)) {
    await runner.query(`drop index ${name}`);
    await runner.query(`alter index ${name}_next rename to ${name}`);
  }
}
