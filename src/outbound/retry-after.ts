/**
 * What a `Retry-After` asks for, in milliseconds from now: RFC 9110 §10.2.3, seconds or a date. Null when there is none, or
 * none that can be read.
 */
export function retryAfterMs(header: string | string[] | undefined, now: number): number | null {
  if (typeof header !== 'string') return null;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  const until = /^[A-Z][a-z]/.test(header) ? Date.parse(header) : NaN;
  return Number.isNaN(until) ? null : Math.max(0, until - now);
}
