const SECONDS = '2';

/** What `Retry-After` says on an error answer that does not say it itself; undefined where trying again would be no help. */
export function retryAfterSeconds(status: number): string | undefined {
  return status === 503 || status === 429 ? SECONDS : undefined;
}
