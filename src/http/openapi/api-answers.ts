import { applyDecorators, type Type } from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiHeader,
  ApiNotModifiedResponse,
  ApiOkResponse,
  type ApiResponseOptions,
} from '@nestjs/swagger';
import { ApiErrors } from './api-errors.js';

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
