import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * When an entry's claims last changed: that may have made it visible to a caller who uses updated_since. A
 * trigger maintains it, so that every writer does, including the previous version.
 */
export class ChangedClaims1796400000000 implements MigrationInterface {
  readonly loses = 'when the claims of entries have changed';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table entry add column claims_changed_at timestamptz(3)`);
    await runner.query(`
      create function note_changed_claims() returns trigger language plpgsql as $$
      begin
        new.claims_changed_at := clock_timestamp();
        return new;
      end $$`);
    await runner.query(`
      create trigger entry_claims_changed before update of claim_set_id on entry
        for each row when (old.claim_set_id <> new.claim_set_id) execute function note_changed_claims()`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop trigger entry_claims_changed on entry`);
    await runner.query(`drop function note_changed_claims()`);
    await runner.query(`alter table entry drop column claims_changed_at`);
  }
}
