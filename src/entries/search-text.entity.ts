import { Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn, Unique } from 'typeorm';
import { BytewiseText, IdColumn } from '../database/statements.js';
import type { EntryType } from '../documents/entry-types.js';
import { Source } from '../sources/source.entity.js';

const PRIMARY_KEY = 'search_text_pkey';

/**
 * A partition (source, type and claim set). Its id stays the same when all of its entries move to another claim set.
 */
@Entity('search_partition')
@Unique('search_partition_source_id_type_claim_set_id_key', ['sourceId', 'type', 'claimSetId'])
export class SearchPartition {
  @IdColumn('search_partition')
  id: number;

  @Column({ name: 'source_id', type: 'integer' })
  sourceId: number;

  @ManyToOne(() => Source, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'source_id', foreignKeyConstraintName: 'search_partition_source_id_fkey' })
  source: Source;

  @BytewiseText()
  type: EntryType;

  @Column({ name: 'claim_set_id', type: 'integer' })
  claimSetId: number;
}

/**
 * The texts that `search` matches, one row per entry and distinct text. Triggers on `entry` and `entry_version`
 * maintain the rows, so no writer can forget to update them.
 */
@Entity('search_text')
// TypeORM does not support this type of index, so a migration creates the index.
@Index('search_text_keys', { synchronize: false })
@Index('search_text_keyless', ['entryId'], { where: `grams = ''` })
export class SearchText {
  @PrimaryColumn({ name: 'entry_id', type: 'bigint', primaryKeyConstraintName: PRIMARY_KEY })
  entryId: string;

  /** SHA-256 of the content. */
  @PrimaryColumn({ type: 'bytea', primaryKeyConstraintName: PRIMARY_KEY })
  digest: Buffer;

  @Column({ name: 'partition_id', type: 'integer' })
  partitionId: number;

  @BytewiseText()
  type: EntryType;

  @BytewiseText()
  name: string;

  /** The `search` column of the versions. */
  @BytewiseText()
  content: string;

  /** See `gramsOf`; empty until `addSearchKeys` adds them. */
  @BytewiseText()
  grams: string;
}
