import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  Injectable,
  Logger,
  NotFoundException,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import {
  isDatabaseUnreachable,
  isOutOfConnections,
  isStatementTimeout,
  isStorageFull,
} from '../database/database-errors.js';
import { isOwnDiskFull, ownShortage } from '../limits/own-resources.js';
import { SemaphoreTimeout } from '../limits/semaphore.js';
import {
  ApiError,
  ClientGone,
  type ErrorBody,
  errorBody,
  type ErrorCode,
  refusalStep,
  routeError,
} from './errors.js';
import { isGitPath } from './registry-paths.js';

const SECONDS = '2';

/** Returns the default `Retry-After` in seconds; undefined when a retry would not help. */
export function retryAfterSeconds(status: number): string | undefined {
  return status === 503 || status === 429 ? SECONDS : undefined;
}

/**
 * 5xx errors that are not logged as errors, unless they have a cause: provider failures are logged where they occur, and the
 * others are not server faults.
 */
const NOT_LOGGED: ReadonlySet<ErrorCode> = new Set([
  'overloaded',
  'provider_unavailable',
  'search_too_broad',
  'use_admin_api',
]);

/** Writes all error responses. Errors outside the catalog become `internal_error`. */
@Catch()
@Injectable()
export class ErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('http');

  /** @returns the error that was sent, if any. */
  catch(thrown: unknown, host: ArgumentsHost): ApiError | undefined {
    if (thrown instanceof ClientGone) return undefined;
    const http = host.switchToHttp();
    const request = http.getRequest<Request>();
    const response = http.getResponse<Response>();
    const error = thrown instanceof NotFoundException ? routeError(request) : toApiError(thrown);
    const requestId = String(request.id);
    request.refusal = { code: error.code, step: refusalStep(error.code) };
    if (error.status >= 500 && (error.cause !== undefined || !NOT_LOGGED.has(error.code))) {
      const cause = error.cause ?? thrown;
      this.logger.error({ requestId, code: error.code, err: cause }, error.message);
    }
    if (response.headersSent) {
      response.destroy();
      return undefined;
    }
    const retryAfter = retryAfterSeconds(error.status);
    if (retryAfter !== undefined) response.setHeader('Retry-After', retryAfter);
    for (const [name, value] of Object.entries(error.headers)) response.setHeader(name, value);
    response.removeHeader('ETag');
    response.setHeader('Cache-Control', 'no-store');
    response.status(error.status);
    const body = errorBody(error, requestId);
    if (isGitPath(request.path)) response.type('text/plain').send(textOf(body));
    else response.json(body);
    return error;
  }
}

/** Git shows the text of a refusal only if it is text/plain. */
function textOf({ error, code, requestId, details = [] }: ErrorBody): string {
  return [error, ...details, `${code}, request ${requestId}`, ''].join('\n');
}

/** Maps any thrown value to an error in the catalog, with the original as its cause. */
export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (thrown instanceof SemaphoreTimeout) return new ApiError('overloaded');
  const [lacking, sentence] = shortageOf(thrown) ?? [];
  if (lacking) return new ApiError(lacking, sentence, undefined, { cause: thrown });
  const inner = thrown instanceof HttpException && thrown.cause instanceof Error ? thrown.cause : thrown;
  if (inner instanceof URIError) return new ApiError('malformed_path');
  const parser = parserError(inner);
  if (parser) return parser;
  if (thrown instanceof HttpException) return fromHttpException(thrown);
  return new ApiError('internal_error', undefined, undefined, { cause: thrown });
}

/** Returns what this server or PostgreSQL has run out of. */
function shortageOf(error: unknown): [code: ErrorCode, sentence?: string] | undefined {
  const lacking = ownShortage(error);
  if (lacking !== undefined) return [isOwnDiskFull(error) ? 'storage_full' : 'overloaded', lacking];
  if (isOutOfConnections(error))
    return ['overloaded', 'PostgreSQL grants this server no more connections: try again shortly'];
  if (isDatabaseUnreachable(error)) return ['database_unavailable'];
  if (isStorageFull(error)) return ['storage_full'];
  return isStatementTimeout(error) ? ['database_timeout'] : undefined;
}

/** Errors from Express's body parsers have a `type`: https://github.com/expressjs/body-parser#errors */
const PARSER_ERRORS: ReadonlyMap<unknown, ErrorCode> = new Map<unknown, ErrorCode>([
  ['entity.parse.failed', 'malformed_json'],
  ['entity.too.large', 'body_too_large'],
  ['parameters.too.many', 'body_too_large'],
  ['charset.unsupported', 'unsupported_media_type'],
  ['encoding.unsupported', 'unsupported_media_type'],
  ['request.aborted', 'malformed_body'],
  ['request.size.invalid', 'malformed_body'],
  ['entity.verify.failed', 'malformed_body'],
  ['stream.encoding.set', 'malformed_body'],
  ['stream.not.readable', 'malformed_body'],
]);

function parserError(error: unknown): ApiError | null {
  const { type } = (error instanceof Error ? error : {}) as { readonly type?: unknown };
  const code = PARSER_ERRORS.get(type) ?? (isClientError(error) ? 'malformed_body' : undefined);
  return code === undefined ? null : new ApiError(code);
}

// Decompression errors have a status but no type.
function isClientError(error: unknown): boolean {
  return (
    error instanceof Error &&
    !(error instanceof HttpException) &&
    (error as Error & { status?: unknown }).status === 400
  );
}

/** Nest's own exceptions. */
const NEST_ERRORS: ReadonlyMap<number, ErrorCode> = new Map([
  [400, 'malformed_body'],
  [404, 'route_not_found'],
  [408, 'request_timeout'],
  [413, 'body_too_large'],
  [415, 'unsupported_media_type'],
]);

function fromHttpException(exception: HttpException): ApiError {
  const code = NEST_ERRORS.get(exception.getStatus());
  return code === undefined
    ? new ApiError('internal_error', undefined, undefined, { cause: exception })
    : new ApiError(code);
}
