import type { Response } from 'express';

/**
 * Has the client got this answer (RFC 9110 §13.1.2)? Whatever `Cache-Control` the request carries (contract §6): clients built
 * on `fetch()` send `no-cache` beside their tag, which Express takes for a wish to be sent everything.
 */
export function isKnown({ req, statusCode }: Response, etag: string): boolean {
  const condition = req.headers['if-none-match'];
  if (condition === undefined || statusCode !== 200 || !['GET', 'HEAD'].includes(req.method)) return false;
  return condition.trim() === '*' || condition.split(',').some((tag) => opaque(tag) === opaque(etag));
}

// Weak comparison, RFC 9110 §8.8.3.2.
function opaque(etag: string): string {
  return etag.trim().replace(/^W\//, '');
}

/** 304, which has no body. */
export function sendNotModified(response: Response): void {
  response.removeHeader('Content-Type');
  response.statusCode = 304;
  response.end();
}
