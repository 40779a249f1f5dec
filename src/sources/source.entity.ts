import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { EntryFilterConfig, SourceKind } from '../config/config.js';

export type Origin = 'config' | 'api';

/** A named provider of entries. `settings` is what the configuration holds below the source's kind. */
@Entity('source')
export class Source {
  @PrimaryColumn({ type: 'integer' })
  id: number;

  @Column({ type: 'text' })
  name: string;

  @Column({ type: 'text' })
  kind: SourceKind;

  @Column({ type: 'jsonb' })
  settings: Record<string, unknown>;

  @Column({ type: 'jsonb', nullable: true })
  filter: EntryFilterConfig | null;

  /** Milliseconds between two syncs; bigint, which node-postgres hands over as text. Null for kinds that do not sync. */
  @Column({ name: 'interval_ms', type: 'bigint', nullable: true })
  intervalMs: string | null;

  @Column({ name: 'claim_set_id', type: 'integer' })
  claimSetId: number;

  @Column({ type: 'text' })
  origin: Origin;

  @Column({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column({ name: 'updated_at', type: 'timestamptz' })
  updatedAt: Date;
}
