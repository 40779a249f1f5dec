import { applyDecorators, type Type } from '@nestjs/common';
import { METHOD_METADATA } from '@nestjs/common/constants.js';
import {
  ApiCreatedResponse,
  ApiExtraModels,
  ApiHeader,
  ApiNotModifiedResponse,
  ApiOkResponse,
  ApiProperty,
  ApiPropertyOptional,
  ApiResponse,
  type ApiResponseOptions,
  getSchemaPath,
} from '@nestjs/swagger';
import { ApiError, ERROR_CATALOGUE, errorBody, type ErrorCode } from '../errors.js';

const REQUEST_ID = '8b0f2d3c-6d0c-4b1e-9f0a-1f6f4f0f7c55';

/** Errors that any route can return. */
const EVERYWHERE = ['internal_error', 'overloaded'] as const;

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
    enum: Object.keys(ERROR_CATALOGUE),
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

/** Codes already documented, by handler. */
const described = new WeakMap<object, Set<ErrorCode>>();

/**
 * Documents the errors of a route in OpenAPI, grouped by status; on a class, the errors of each route. Decorators
 * accumulate.
 */
export function ApiErrors(...codes: ErrorCode[]): MethodDecorator & ClassDecorator {
  return (target: object, _key?: string | symbol, descriptor?: PropertyDescriptor) => {
    for (const route of descriptor ? [descriptor] : routesOf(target)) describe(route, codes);
  };
}

function describe(route: PropertyDescriptor, codes: readonly ErrorCode[]): void {
  const before = described.get(route.value as object) ?? new Set();
  const all = new Set([...before, ...codes, ...EVERYWHERE]);
  const added = [...all].filter((code) => !before.has(code));
  described.set(route.value as object, all);
  for (const status of new Set(added.map(statusOf))) {
    const ofStatus = [...all].filter((code) => statusOf(code) === status);
    const response: ApiResponseOptions = {
      status,
      // Swagger appends this description to the previous one and replaces everything else.
      description: ofStatus
        .filter((code) => !before.has(code))
        .map((code) => `\`${code}\`: ${ERROR_CATALOGUE[code].sentence}`)
        .join('\n\n'),
      ...(HEADERS[status] ? { headers: HEADERS[status] } : {}),
      content: {
        'application/json': {
          schema: { $ref: getSchemaPath(ErrorAnswer) },
          examples: Object.fromEntries(ofStatus.map((code) => [code, { value: exampleOf(code) }])),
        },
      },
    };
    applyDecorators(ApiExtraModels(ErrorAnswer), ApiResponse(response))({}, '', route);
  }
}

function routesOf({ prototype }: { readonly prototype?: object }): PropertyDescriptor[] {
  return Object.values(Object.getOwnPropertyDescriptors(prototype ?? {})).filter(
    ({ value }) => typeof value === 'function' && Reflect.hasMetadata(METHOD_METADATA, value),
  );
}

function statusOf(code: ErrorCode): number {
  return ERROR_CATALOGUE[code].status;
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

/** Documents a GET with an ETag: 200, or 304 when `If-None-Match` contains the tag (reference/catalog). */
export function ApiOkWithEtag(type: Type): MethodDecorator {
  return withEtag({ type });
}

/** Like `ApiOkWithEtag`, for a response that is not JSON. */
export function ApiTextWithEtag(mediaType: string): MethodDecorator {
  return withEtag({ content: { [mediaType]: { schema: { type: 'string' } } } });
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

/** Documents a PUT that creates or replaces, subject to `If-None-Match: *` and `If-Match` (reference/sources). */
export function ApiPutAnswer(type: Type): MethodDecorator {
  return applyDecorators(
    ApiOkResponse({ type, description: 'Replaced', headers: ETAG }),
    ApiCreatedResponse({ type, description: 'Created', headers: ETAG }),
    ApiIfMatch(),
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
  return applyDecorators(
    ApiHeader({
      name: 'If-Match',
      required: false,
      description: 'The ETag of a GET: the change is made only if the resource has not changed since',
      schema: { type: 'string' },
      example: EXAMPLE,
    }),
    ApiErrors('precondition_failed'),
  );
}
