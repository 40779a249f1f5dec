import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Lets `updated_since` find entries by when their claims changed. Blocks writers of entries, not readers. */
export class ChangedClaimsIndex1796400000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create index if not exists entry_claims_changed on entry (claims_changed_at)
      where claims_changed_at is not null`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop index entry_claims_changed`);
  }
}
