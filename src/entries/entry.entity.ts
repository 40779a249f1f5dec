import { Check, Column, Entity, Index, JoinColumn, ManyToOne, Unique } from 'typeorm';
import { ClaimSet } from '../claim-sets/claim-set.entity.js';
import type { Claims } from '../claims/claims.js';
import { BigIdColumn, BytewiseText } from '../database/columns.js';
import type { EntryType } from '../documents/entry-types.js';
import { Source } from '../sources/source.entity.js';

/** One name of one type in one source. */
@Entity('entry')
@Unique('entry_source_id_type_name_key', ['sourceId', 'type', 'name'])
@Check('entry_type_check', `type in ('server', 'skill')`)
// Serves one partition (source and claim set) of a view in name order.
@Index('entry_partition', ['sourceId', 'type', 'claimSetId', 'name'])
@Index('entry_claim_set', ['claimSetId'])
export class Entry {
  @BigIdColumn('entry')
  id: string;

  @Column({ name: 'source_id', type: 'integer' })
  sourceId: number;

  @ManyToOne(() => Source, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'source_id', foreignKeyConstraintName: 'entry_source_id_fkey' })
  source: Source;

  @BytewiseText()
  type: EntryType;

  @BytewiseText()
  name: string;

  @Column({ name: 'claim_set_id', type: 'integer' })
  claimSetId: number;

  @ManyToOne(() => ClaimSet)
  @JoinColumn({ name: 'claim_set_id', foreignKeyConstraintName: 'entry_claim_set_id_fkey' })
  claimSet: ClaimSet;

  /** Who sees the entry. */
  get claims(): Claims {
    return this.claimSet.claims;
  }
}
