import { Column, JoinColumn, ManyToOne } from 'typeorm';
import { ClaimSet } from './claim-set.entity.js';

/** The number of the claim set of a row. */
export function ClaimSetId(): PropertyDecorator {
  return Column({ name: 'claim_set_id', type: 'integer' });
}

/** The claim set of a row of this table. */
export function ClaimSetOf(table: string): PropertyDecorator {
  return (prototype, property) => {
    ManyToOne(() => ClaimSet)(prototype, property);
    JoinColumn({ name: 'claim_set_id', foreignKeyConstraintName: `${table}_claim_set_id_fkey` })(
      prototype,
      property,
    );
  };
}

/** The form in which claims were given, if it is another one: see `givenForm`. For showing alone. */
export function GivenClaims(): PropertyDecorator {
  return Column({ name: 'given_claims', type: 'jsonb', nullable: true });
}
