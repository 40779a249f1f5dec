import { ApiPropertyOptional } from '@nestjs/swagger';
import { Checked, Optional } from '../validation/class-checks.js';
import { emptyOr, flagParameter } from '../validation/value-checks.js';

/** contract §10. */
export class MeQuery {
  @ApiPropertyOptional({ type: 'boolean', description: 'Also the claims of the caller that count here' })
  @Optional()
  @Checked(emptyOr(flagParameter))
  claims?: string;
}
