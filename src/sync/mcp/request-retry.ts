import { OutboundError } from '../../outbound/http-client.js';

/** The pauses after which a request is made again, within one run; an upstream that asks for another one gets that. */
export const PAUSES_MS = [500, 1_000, 2_000];
/** Of one pause that the upstream asks for, and of all pauses of a run. */
export const LONGEST_PAUSE_MS = 60_000;
export const MAX_PAUSES_MS = 2 * LONGEST_PAUSE_MS;
/** The upstream has asked for patience, or is in trouble that may pass. */
export const PASSING = [429, 500, 502, 503, 504];
const PASSING_CODES = ['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN', 'UND_ERR_SOCKET'];

/** Has a request failed by something that may pass? */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof OutboundError)) return false;
  const cause = error.cause as NodeJS.ErrnoException | undefined;
  return PASSING_CODES.includes(cause?.code ?? '');
}
