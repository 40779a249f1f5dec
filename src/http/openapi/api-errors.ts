import { applyDecorators } from '@nestjs/common';
import {
  ApiExtraModels,
  ApiProperty,
  ApiPropertyOptional,
  ApiResponse,
  getSchemaPath,
} from '@nestjs/swagger';
import { ERROR_CATALOGUE, type ErrorCode } from '../errors.js';

/** The body of every error answer (contract §3). */
export class ErrorAnswer {
  @ApiProperty({ description: 'A sentence a person can act on; it may change' })
  error: string;

  @ApiProperty({ description: 'Stable, for programs', enum: Object.keys(ERROR_CATALOGUE) })
  code: string;

  @ApiProperty({ description: 'Also in the X-Request-Id header and in the log' })
  requestId: string;

  @ApiPropertyOptional({ type: [String], description: 'What exactly is wrong, where that is known' })
  details?: string[];
}

/** Describes the errors of a route in the OpenAPI document, grouped by status. */
export function ApiErrors(...codes: ErrorCode[]): MethodDecorator & ClassDecorator {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of [...codes, 'internal_error' as const]) {
    const { status } = ERROR_CATALOGUE[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return applyDecorators(
    ApiExtraModels(ErrorAnswer),
    ...[...byStatus].map(([status, inStatus]) =>
      ApiResponse({
        status,
        description: inStatus.map((code) => `\`${code}\`: ${ERROR_CATALOGUE[code].sentence}`).join('; '),
        content: {
          'application/json': {
            schema: { $ref: getSchemaPath(ErrorAnswer) },
            examples: Object.fromEntries(inStatus.map((code) => [code, { value: exampleOf(code) }])),
          },
        },
      }),
    ),
  );
}

function exampleOf(code: ErrorCode): ErrorAnswer {
  const { sentence } = ERROR_CATALOGUE[code];
  return { error: sentence, code, requestId: '8b0f2d3c-6d0c-4b1e-9f0a-1f6f4f0f7c55' };
}
