import { ApiProperty } from '@nestjs/swagger';
import { Validate } from '../validation/class-validation.js';
import { foundKind, type Issue, issue, parseTimestamp } from '../validation/value-checks.js';

/** The body of a replay. */
export class ReplayBody {
  @ApiProperty({ format: 'date-time', description: 'Events from this time on are sent again' })
  @Validate(timestamp)
  since: string;
}

function timestamp(value: unknown): Issue[] {
  if (typeof value !== 'string') return issue(`must be a string, not ${foundKind(value)}`);
  return parseTimestamp(value) ? [] : issue('must be an RFC 3339 time such as 2026-11-22T12:00:00Z');
}
