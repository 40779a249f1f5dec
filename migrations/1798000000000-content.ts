import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The files of skills and plugins (reference/content). */
export class Content1798000000000 implements MigrationInterface {
  readonly loses = 'the stored content of skills and plugins';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table content_blob (
        digest bytea constraint content_blob_pkey primary key,
        bytes integer not null
      )`);
    await runner.query(`
      create table content_chunk (
        blob bytea not null constraint content_chunk_blob_fkey references content_blob (digest) on delete cascade,
        position integer not null,
        data bytea not null,
        constraint content_chunk_pkey primary key (blob, position)
      )`);
    await runner.query(`
      create table content_tree (
        digest bytea constraint content_tree_pkey primary key,
        bytes integer not null
      )`);
    await runner.query(`
      create table content_file (
        tree bytea not null constraint content_file_tree_fkey references content_tree (digest) on delete cascade,
        path text collate "C" not null,
        blob bytea not null constraint content_file_blob_fkey references content_blob (digest),
        is_executable boolean not null,
        constraint content_file_pkey primary key (tree, path)
      )`);
    await runner.query(`create index content_file_blob on content_file (blob)`);
    await runner.query(`
      create table version_content (
        version_id bigint constraint version_content_pkey primary key
          constraint version_content_version_id_fkey references entry_version (id) on delete cascade,
        tree bytea not null constraint version_content_tree_fkey references content_tree (digest)
      )`);
    await runner.query(`create index version_content_tree on version_content (tree)`);
    await runner.query(`alter table admission_item add column content_tree bytea`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['version_content', 'content_file', 'content_tree', 'content_chunk', 'content_blob'])
      await runner.query(`drop table ${table}`);
    await runner.query(`alter table admission_item drop column content_tree`);
  }
}
