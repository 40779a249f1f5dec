import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import type { AppliedOAuth } from '../auth/audited-oauth.js';
import type { AuthorizationForm } from './policy-in-force.js';

/** The settings of `auth` and `admission` applied by the last start or reload. The table has one row. */
@Entity('applied_authorization')
@Check('applied_authorization_id_check', 'id = 1')
export class AppliedAuthorization {
  @PrimaryColumn({ type: 'integer', primaryKeyConstraintName: 'applied_authorization_pkey' })
  id: number;

  @Column({ name: 'authorization_form', type: 'jsonb' })
  form: AuthorizationForm;

  /** Null in anonymous mode. */
  @Column({ name: 'oauth_form', type: 'jsonb', nullable: true })
  oauth: AppliedOAuth | null;

  /** The configured `admission`; null before it was first applied. */
  @Column({ name: 'admission_form', type: 'jsonb', nullable: true })
  admission: object | null;
}
