import { ApiProperty } from '@nestjs/swagger';
import { IsTimestamp } from '../validation/decorators.js';

/** The body of a replay. */
export class ReplayBody {
  @ApiProperty({ format: 'date-time', description: 'Events from this time on are sent again' })
  @IsTimestamp()
  since: string;
}
