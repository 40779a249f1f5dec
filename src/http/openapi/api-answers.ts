import { applyDecorators, type Type } from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiExtraModels,
  ApiHeader,
  ApiNotModifiedResponse,
  ApiOkResponse,
  ApiProperty,
  ApiPropertyOptional,
  ApiResponse,
  type ApiResponseNoStatusOptions,
  type ApiResponseOptions,
  getSchemaPath,
} from '@nestjs/swagger';
import { ApiError, ERRORS, errorBody, type ErrorCode } from '../errors.js';

const REQUEST_ID = '8b0f2d3c-6d0c-4b1e-9f0a-1f6f4f0f7c55';

/** Headers of error responses, by status. */
const HEADERS: Readonly<Record<number, ApiResponseOptions['headers']>> = {
  401: {
    'WWW-Authenticate': {
      description: 'The problem with the token, and where to get one (RFC 6750, RFC 9728)',
      schema: { type: 'string' },
    },
  },
  429: retryAfter(),
  503: retryAfter(),
};

/** The body of every error response (reference/errors). */
export class ErrorAnswer {
  @ApiProperty({ description: 'A message for people; it may change' })
  error: string;

  @ApiProperty({
    description: 'Stable, for programs',
    enum: Object.keys(ERRORS),
    enumName: 'ErrorCode',
  })
  code: string;

  @ApiProperty({ description: 'Also in the X-Request-Id header and in the log', example: REQUEST_ID })
  requestId: string;

  @ApiPropertyOptional({
    type: [String],
    description: 'Every problem found, one sentence each',
    example: ['syncPolicy: is required for a source of kind git, with an interval'],
  })
  details?: string[];
}

/** Documents the errors of a route in OpenAPI, grouped by status. */
export function ApiErrors(codes: readonly ErrorCode[]): MethodDecorator {
  const statuses = new Set(codes.map(statusOf));
  return applyDecorators(
    ApiExtraModels(ErrorAnswer),
    ...[...statuses].map((status) => {
      const ofStatus = [...new Set(codes)].filter((code) => statusOf(code) === status);
      return ApiResponse({
        status,
        description: ofStatus.map((code) => `\`${code}\`: ${ERRORS[code].sentence}`).join('\n\n'),
        ...(HEADERS[status] ? { headers: HEADERS[status] } : {}),
        content: {
          'application/json': {
            schema: { $ref: getSchemaPath(ErrorAnswer) },
            examples: Object.fromEntries(ofStatus.map((code) => [code, { value: exampleOf(code) }])),
          },
        },
      });
    }),
  );
}

function statusOf(code: ErrorCode): number {
  return ERRORS[code].status;
}

function exampleOf(code: ErrorCode): object {
  return errorBody(new ApiError(code), REQUEST_ID);
}

function retryAfter(): ApiResponseOptions['headers'] {
  return { 'Retry-After': { description: 'Seconds to wait', schema: { type: 'integer' } } };
}

const EXAMPLE = '"rJ0yL2qv8mXw4sTz.Kc3nVb7e"';

const ETAG: ApiResponseOptions['headers'] = {
  ETag: {
    description: 'For `If-None-Match` or `If-Match`',
    schema: { type: 'string', example: EXAMPLE },
  },
};

/**
 * A route's successful response: a class, with an ETag for a GET, and created or replaced by a PUT
 * (reference/catalog, reference/sources); a media type, for any other GET with an ETag; a response that has
 * neither; or null for no body.
 */
export type Answer = Type | string | ApiResponseNoStatusOptions | null;

export function ApiAnswer(method: string, status: number, answer: Answer): MethodDecorator {
  if (typeof answer === 'string') return withEtag({ content: { [answer]: { schema: { type: 'string' } } } });
  if (typeof answer !== 'function') return ApiResponse({ ...answer, status } as ApiResponseOptions);
  if (method === 'GET') return withEtag({ type: answer });
  return method === 'PUT' ? createdOrReplaced(answer) : ApiResponse({ type: answer, status });
}

function withEtag(response: ApiResponseOptions): MethodDecorator {
  return applyDecorators(
    ApiOkResponse({ ...response, headers: ETAG }),
    ApiNotModifiedResponse({
      description: 'Unchanged: the ETag is in `If-None-Match`',
      headers: ETAG,
    }),
    ApiHeader({
      name: 'If-None-Match',
      required: false,
      description: 'The ETag of an earlier response: if it is unchanged, the response is 304 without a body',
      schema: { type: 'string' },
      example: EXAMPLE,
    }),
  );
}

function createdOrReplaced(type: Type): MethodDecorator {
  return applyDecorators(
    ApiOkResponse({ type, description: 'Replaced', headers: ETAG }),
    ApiCreatedResponse({ type, description: 'Created', headers: ETAG }),
    ApiHeader({
      name: 'If-None-Match',
      required: false,
      description: '`*`: only if the name does not exist yet',
      schema: { type: 'string', enum: ['*'] },
    }),
  );
}

/** Documents a change that accepts `If-Match` (RFC 9110 §13.1.1). */
export function ApiIfMatch(): MethodDecorator {
  return ApiHeader({
    name: 'If-Match',
    required: false,
    description: 'The ETag of a GET: the change is made only if the resource has not changed since',
    schema: { type: 'string' },
    example: EXAMPLE,
  });
}
