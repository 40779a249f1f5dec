import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import { BytewiseText } from '../database/statements.js';
import type { EntryType } from '../documents/entry-types.js';

const PRIMARY_KEY = 'entry_summary_change_pkey';

/** A summary that was written, moved or deleted; triggers add the rows. See `SummaryChanges`. */
@Entity('entry_summary_change')
export class SummaryChange {
  /** PostgreSQL's number of the transaction. TypeORM compares the default without its casts. */
  @PrimaryColumn({
    type: 'bigint',
    default: () => '((pg_current_xact_id()))',
    primaryKeyConstraintName: PRIMARY_KEY,
  })
  transaction: string;

  @PrimaryColumn({ name: 'entry_id', type: 'bigint', primaryKeyConstraintName: PRIMARY_KEY })
  entryId: string;

  /** See `SearchPartition`. */
  @Column({ name: 'partition_id', type: 'integer' })
  partitionId: number;

  @BytewiseText()
  type: EntryType;

  @BytewiseText()
  name: string;
}

/** The transaction from which `SummaryChange` is complete. At most one row; none while nothing was deleted. */
@Entity('entry_summary_horizon')
@Check('entry_summary_horizon_id_check', 'id = 1')
export class SummaryHorizon {
  @PrimaryColumn({ type: 'integer', primaryKeyConstraintName: 'entry_summary_horizon_pkey' })
  id: number;

  @Column({ type: 'bigint' })
  transaction: string;
}
