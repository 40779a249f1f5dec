import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Finds the events of transactions. Only later events have one, so the index begins empty. */
export class WebhooksIndex1797910000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `create index audit_event_transaction on audit_event (transaction) where transaction is not null`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop index audit_event_transaction`);
  }
}
