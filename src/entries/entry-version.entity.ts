import { Check, Column, Entity, Index, JoinColumn, ManyToOne, Unique } from 'typeorm';
import { BigIdColumn, BytewiseText, Timestamp } from '../database/columns.js';
import { Entry } from './entry.entity.js';

/** One published document of an entry. */
@Entity('entry_version')
@Unique('entry_version_entry_id_version_key', ['entryId', 'version'])
@Check('entry_version_status_check', `status in ('active', 'deprecated', 'deleted', 'archived')`)
@Index('entry_version_latest', ['entryId'], { unique: true, where: 'is_latest' })
@Index('entry_version_updated', ['updatedAt'])
@Index('entry_version_version', ['version'])
@Index('entry_version_status', ['status'], { where: `status <> 'active'` })
// TypeORM knows neither descending nor trigram indexes: the migrations make these two.
@Index('entry_version_order', { synchronize: false })
@Index('entry_version_search', { synchronize: false })
export class EntryVersion {
  @BigIdColumn('entry_version')
  id: string;

  @Column({ name: 'entry_id', type: 'bigint' })
  entryId: string;

  @ManyToOne(() => Entry, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'entry_id', foreignKeyConstraintName: 'entry_version_entry_id_fkey' })
  entry: Entry;

  @BytewiseText()
  version: string;

  /** Its bytes order the versions of an entry: see documents/version-order.ts. */
  @BytewiseText({ name: 'version_key' })
  versionKey: string;

  /** As it is served. */
  @Column({ type: 'text' })
  document: string;

  /** SHA-256 of the document. */
  @Column({ type: 'bytea' })
  digest: Buffer;

  @Column({ type: 'text' })
  status: string;

  @Column({ name: 'status_message', type: 'text', nullable: true })
  statusMessage: string | null;

  @Timestamp({ name: 'status_changed_at' })
  statusChangedAt: Date;

  @Timestamp({ name: 'published_at' })
  publishedAt: Date;

  @Timestamp({ name: 'updated_at' })
  updatedAt: Date;

  /** One of each entry's versions. */
  @Column({ name: 'is_latest', type: 'boolean', default: false })
  isLatest: boolean;

  /** What `search` looks through, in lower case. */
  @Column({ type: 'text' })
  search: string;
}
