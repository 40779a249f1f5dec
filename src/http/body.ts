import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import express, { type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import { ApiError } from './errors.js';

interface ParsedRequest extends Request {
  /** The text of the body, for those who have to know how it was spelled. */
  rawBody?: Buffer;
  bodyProblem?: unknown;
}

/**
 * Parses JSON bodies, and keeps what is wrong with one for later: a caller without a token, or one who may not know what
 * they named, learns that first (contract §3: token, role, load or 404, body).
 */
export function parseBody(limit: string): RequestHandler {
  const parse = express.json({
    limit,
    verify: (request: ParsedRequest, _response, body, encoding) => {
      // RFC 8259 §8.1
      if (encoding.toLowerCase() !== 'utf-8')
        throw Object.assign(new Error('Not UTF-8'), { type: 'charset.unsupported' });
      request.rawBody = body;
    },
  });
  return (request: ParsedRequest, response: Response, next: NextFunction) => {
    parse(request, response, (problem?: unknown) => {
      if (problem !== undefined) request.bodyProblem = problem;
      next();
    });
  };
}

/** What kept the body of a request from being read, if anything did. */
export function bodyProblemOf(request: Request): unknown {
  return (request as ParsedRequest).bodyProblem;
}

/**
 * Comes after the last of the three global steps: is there a body that could be read?
 *
 * @throws what kept it from being read; ApiError 415 for one that is no JSON.
 */
export function checkBody(request: ParsedRequest): void {
  if (request.bodyProblem !== undefined) throw request.bodyProblem;
  if (request.method === 'GET' || request.method === 'HEAD') return;
  if (request.body === undefined && hasBody(request)) throw new ApiError('unsupported_media_type');
}

function hasBody({ headers }: Request): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** A JSON body, parsed and as it was sent: what was parsed does not tell of keys given twice. */
export interface SentBody {
  readonly body: unknown;
  readonly raw: Buffer | undefined;
}

/** The body of the request in both forms. */
export const SentJson = createParamDecorator((_: unknown, context: ExecutionContext): SentBody => {
  const { body, rawBody } = context.switchToHttp().getRequest<ParsedRequest>();
  return { body: body as unknown, raw: rawBody };
});
