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

/** Any route can answer these. */
const EVERYWHERE = ['internal_error', 'overloaded'] as const;

/** The headers that come with every error of a status. */
const HEADERS: Readonly<Record<number, ApiResponseOptions['headers']>> = {
  401: {
    'WWW-Authenticate': {
      description: 'What is wrong with the token, and where one can be had (RFC 6750, RFC 9728)',
      schema: { type: 'string' },
    },
  },
  429: retryAfter(),
  503: retryAfter(),
};

/** The body of every error answer (contract §3). */
export class ErrorAnswer {
  @ApiProperty({ description: 'A sentence a person can act on; it may change' })
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
    description: 'What exactly is wrong, a sentence each, where that is known',
    example: ['syncPolicy: is required for a source of kind git, with an interval'],
  })
  details?: string[];
}

/** The codes that the handlers of routes have been described with so far. */
const described = new WeakMap<object, Set<ErrorCode>>();

/**
 * Describes errors of a route in the OpenAPI document, grouped by status; of a class, for each of its routes. What is said in
 * several places adds up.
 */
export function ApiErrors(...codes: ErrorCode[]): MethodDecorator & ClassDecorator {
  return (target: object, _key?: string | symbol, descriptor?: PropertyDescriptor) => {
    for (const route of descriptor ? [descriptor] : routesOf(target)) describe(route, codes);
  };
}

function describe(route: PropertyDescriptor, codes: readonly ErrorCode[]): void {
  const known = described.get(route.value as object) ?? new Set();
  const all = new Set([...known, ...codes, ...EVERYWHERE]);
  const added = [...all].filter((code) => !known.has(code));
  described.set(route.value as object, all);
  for (const status of new Set(added.map(statusOf))) {
    const ofStatus = [...all].filter((code) => statusOf(code) === status);
    const response: ApiResponseOptions = {
      status,
      // Swagger appends this to what was said before; the rest of an earlier response it replaces.
      description: ofStatus
        .filter((code) => !known.has(code))
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
    description: 'Stands for this answer, to be sent back in `If-None-Match` or `If-Match`',
    schema: { type: 'string', example: EXAMPLE },
  },
};

/** The answer of a GET that has an ETag: 200 with it, or 304 for who has that answer already (contract §6). */
export function ApiOkWithEtag(type: Type): MethodDecorator {
  return applyDecorators(
    ApiOkResponse({ type, headers: ETAG }),
    ApiNotModifiedResponse({
      description: 'The answer is the one that `If-None-Match` names',
      headers: ETAG,
    }),
    ApiHeader({
      name: 'If-None-Match',
      required: false,
      description:
        'The ETag of an answer received before: if it is still the answer, 304 comes without a body',
      schema: { type: 'string' },
      example: EXAMPLE,
    }),
  );
}

/** The answer of a PUT, which either replaces or creates, as `If-None-Match: *` and `If-Match` allow (contract §7). */
export function ApiPutAnswer(type: Type): MethodDecorator {
  return applyDecorators(
    ApiOkResponse({ type, description: 'Replaced', headers: ETAG }),
    ApiCreatedResponse({ type, description: 'Created', headers: ETAG }),
    ApiIfMatch(),
    ApiHeader({
      name: 'If-None-Match',
      required: false,
      description: '`*`: only if there is none of this name yet',
      schema: { type: 'string', enum: ['*'] },
    }),
  );
}

/** A change that is made only to what the caller has read (RFC 9110 §13.1.1). */
export function ApiIfMatch(): MethodDecorator {
  return applyDecorators(
    ApiHeader({
      name: 'If-Match',
      required: false,
      description:
        'The ETag of the answer to a GET: the change is made only if nobody has made another since',
      schema: { type: 'string' },
      example: EXAMPLE,
    }),
    ApiErrors('precondition_failed'),
  );
}
