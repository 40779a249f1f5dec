import { Column, Entity, Unique } from 'typeorm';
import type { Claims } from '../claims/claims.js';
import { IdColumn } from '../database/statements.js';

/** A distinct claims value, stored once. `{}` is stored as well, so that references are never null. */
@Entity('claim_set')
@Unique('claim_set_digest_key', ['digest'])
export class ClaimSet {
  @IdColumn('claim_set')
  id: number;

  /** In canonical form. */
  @Column({ type: 'jsonb' })
  claims: Claims;

  /** SHA-256 of the canonical text. */
  @Column({ type: 'bytea' })
  digest: Buffer;
}
