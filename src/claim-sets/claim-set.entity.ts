import { Column, Entity, Unique } from 'typeorm';
import type { Claims } from '../claims/claims.js';
import { IdColumn } from '../database/columns.js';

/** Claims as they were given, stored once for all that are written alike. `{}` is one too, so that references are never null. */
@Entity('claim_set')
@Unique('claim_set_digest_key', ['digest'])
export class ClaimSet {
  @IdColumn('claim_set')
  id: number;

  /** Values as they were given; the order of the keys is lost. */
  @Column({ type: 'jsonb' })
  claims: Claims;

  /** SHA-256 of `claimsText`. */
  @Column({ type: 'bytea' })
  digest: Buffer;
}
