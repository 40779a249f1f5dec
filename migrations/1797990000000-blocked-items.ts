import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Finds the versions that blocks hold, among all that are held. */
export class BlockedItems1797990000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `create index admission_item_blocked on admission_item (source_id, type, name)
       where status = 'held' and change is null and reasons @> '[{"policy": "block"}]'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop index admission_item_blocked`);
  }
}
