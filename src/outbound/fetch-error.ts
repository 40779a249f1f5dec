import { OutboundError } from './http-client.js';
import { UNREACHABLE } from './private-address.js';

/** A source could not be fetched. The message is for the operator's log and contains no secrets. */
export class FetchError extends Error {
  /**
   * @param retryAfterMs the delay requested by the upstream; null if it requested none.
   * @param shown the message for everybody who may see the source.
   */
  constructor(
    message: string,
    readonly retryAfterMs: number | null = null,
    readonly shown = message,
  ) {
    super(message);
  }
}

/**
 * Converts a failed request to a FetchError; returns any other error unchanged.
 *
 * @param allowsPrivate whether the source may be at a private address. If not, the shown message is the same for a
 *   private address and an unknown name.
 */
export function asFetchError(error: unknown, allowsPrivate: boolean): unknown {
  if (!(error instanceof OutboundError)) return error;
  const isHidden = !allowsPrivate && error.isUnreachable;
  return new FetchError(error.message, null, isHidden ? `${error.address}: ${UNREACHABLE}` : error.message);
}

/** Returns the sentence for content that is too large. */
export function tooLargeSentence(what: string, maxBytes: number): string {
  return `${what} is larger than ${maxBytes / 2 ** 20} MiB, the maximum`;
}
