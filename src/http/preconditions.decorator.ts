import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import type { Preconditions } from './preconditions.js';

/** `If-Match` and `If-None-Match` of the request. */
export const RequestPreconditions = createParamDecorator(
  (_: unknown, context: ExecutionContext): Preconditions => {
    const { headers } = context.switchToHttp().getRequest<Request>();
    return { ifMatch: headers['if-match'], ifNoneMatch: headers['if-none-match'] };
  },
);
