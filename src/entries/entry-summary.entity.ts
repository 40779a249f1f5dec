import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { BytewiseText, Timestamp } from '../database/statements.js';
import type { EntryType, Status } from '../documents/statuses.js';

/**
 * What the ranked search compares, counts and shows of an entry: its latest version. Triggers add the rows and outdate
 * them; `EntrySummaries` writes the columns from `version` on.
 */
@Entity('entry_summary')
@Index('entry_summary_partition', ['partitionId'])
@Index('entry_summary_name', ['name', 'type'])
@Index('entry_summary_outdated', ['partitionId'], { where: 'is_outdated' })
export class EntrySummary {
  @PrimaryColumn({ name: 'entry_id', type: 'bigint', primaryKeyConstraintName: 'entry_summary_pkey' })
  entryId: string;

  /** See `SearchPartition`. */
  @Column({ name: 'partition_id', type: 'integer' })
  partitionId: number;

  @BytewiseText()
  type: EntryType;

  @BytewiseText()
  name: string;

  /** Whether the entry changed since the row was written. */
  @Column({ name: 'is_outdated', type: 'boolean', default: true })
  isOutdated: boolean;

  @Column({ type: 'text', nullable: true })
  version: string | null;

  @Column({ type: 'text', nullable: true })
  status: Status | null;

  @Column({ type: 'text', nullable: true })
  title: string | null;

  @Column({ type: 'text', nullable: true })
  description: string | null;

  @Column({ type: 'text', array: true, default: '{}' })
  tags: string[];

  @Column({ type: 'text', array: true, default: '{}' })
  transports: string[];

  @Column({ name: 'is_installable', type: 'boolean', default: false })
  isInstallable: boolean;

  /** The date of the document, or when it last changed here. */
  @Timestamp({ name: 'updated_at', nullable: true })
  updatedAt: Date | null;

  /** Length of the item that a page shows. */
  @Column({ type: 'integer', default: 0 })
  bytes: number;
}

/** At most one row, while entries lack their summaries: see EntrySummaryFill1798150000000. */
@Entity('entry_summary_fill')
export class EntrySummaryFill {
  /** Entries from here on may lack their summaries. */
  @PrimaryColumn({
    name: 'next_entry_id',
    type: 'bigint',
    primaryKeyConstraintName: 'entry_summary_fill_pkey',
  })
  nextEntryId: string;
}
