import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, ApiResponse } from '@nestjs/swagger';
import { ERROR_CATALOGUE, type ErrorCode } from '../errors.js';

/** The body of every error answer (contract §3). */
export class ErrorAnswer {
  @ApiProperty({ description: 'A sentence a person can act on; it may change' })
  error: string;

  @ApiProperty({ description: 'Stable, for programs', enum: Object.keys(ERROR_CATALOGUE) })
  code: string;

  @ApiProperty({ description: 'Also in the X-Request-Id header and in the log' })
  requestId: string;

  @ApiPropertyOptional({ type: [Object], description: 'What exactly is wrong, where that is known' })
  details?: object[];
}

/** Describes the errors of a route in the OpenAPI document, grouped by status. */
export function ApiErrors(...codes: ErrorCode[]): MethodDecorator & ClassDecorator {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of [...codes, 'internal_error' as const]) {
    const { status } = ERROR_CATALOGUE[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return applyDecorators(
    ...[...byStatus].map(([status, inStatus]) =>
      ApiResponse({
        status,
        type: ErrorAnswer,
        description: inStatus.map((code) => `\`${code}\`: ${ERROR_CATALOGUE[code].sentence}`).join('; '),
      }),
    ),
  );
}
