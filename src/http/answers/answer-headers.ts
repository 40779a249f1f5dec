import type { Response } from 'express';

/** What is answered depends on the caller, and may change at any time: it is asked for each time (contract §6). */
export const CACHE_CONTROL = 'private, no-cache';

/** The headers of an answer (contract §6). `vary` has all that the CORS middleware may have set. */
export function setHeaders(response: Response, vary: string, etag: string): void {
  response.setHeader('Vary', vary);
  response.setHeader('Cache-Control', CACHE_CONTROL);
  response.setHeader('ETag', etag);
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
}
