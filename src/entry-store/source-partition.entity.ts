import { Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import { ClaimSet, ClaimSetOf } from '../claim-sets/claim-sets.repository.js';
import { Source } from '../sources/source.entity.js';

const PRIMARY_KEY = 'source_partition_pkey';

/** A claim set carried by entries of a source. Triggers on `entry` maintain the rows. */
@Entity('source_partition')
@Index('source_partition_claim_set', ['claimSetId'])
export class SourcePartition {
  @PrimaryColumn({ name: 'source_id', type: 'integer', primaryKeyConstraintName: PRIMARY_KEY })
  sourceId: number;

  @PrimaryColumn({ name: 'claim_set_id', type: 'integer', primaryKeyConstraintName: PRIMARY_KEY })
  claimSetId: number;

  @ManyToOne(() => Source, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'source_id', foreignKeyConstraintName: 'source_partition_source_id_fkey' })
  source: Source;

  @ClaimSetOf('source_partition')
  claimSet: ClaimSet;
}
