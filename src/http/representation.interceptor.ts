import { createHash } from 'node:crypto';
import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Response } from 'express';
import { map, type Observable } from 'rxjs';

/** A JSON answer that is text already: documents are stored as text and never parsed on the way out. */
export class JsonText {
  /**
   * @param contentTag of what a PUT may change, where there is such a thing.
   */
  constructor(
    readonly text: string,
    readonly contentTag?: string,
  ) {}
}

/**
 * Sends a `JsonText` with the headers every answer of the consumer API carries (contract §6). Express compares
 * `If-None-Match` with the `ETag` set here and makes it a 304.
 */
@Injectable()
export class RepresentationInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const response = context.switchToHttp().getResponse<Response>();
    return next.handle().pipe(
      map((body: unknown) => {
        if (!(body instanceof JsonText)) return body;
        response.vary('Authorization, Origin');
        response.setHeader('Cache-Control', 'private, no-cache');
        const digest = createHash('sha256').update(body.text).digest('base64url').slice(0, 27);
        response.setHeader(
          'ETag',
          body.contentTag === undefined ? `"${digest}"` : `"${body.contentTag}.${digest}"`,
        );
        response.type('json');
        return body.text;
      }),
    );
  }
}
