import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What admission webhooks are asked about held versions, and the webhooks that were applied last. */
export class AdmissionQuestions1797996000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table admission_question (
        item_id uuid not null
          constraint admission_question_item_id_fkey references admission_item (id) on delete cascade,
        webhook text collate "C" not null,
        source_id integer not null,
        attempts integer not null default 0,
        ask_at timestamptz(3),
        constraint admission_question_pkey primary key (item_id, webhook)
      )`);
    await runner.query(
      `create index admission_question_due on admission_question (webhook, source_id, ask_at) where ask_at is not null`,
    );
    await runner.query(`alter table applied_authorization add column admission_form jsonb`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table admission_question`);
    await runner.query(`alter table applied_authorization drop column admission_form`);
  }
}
