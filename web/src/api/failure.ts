/** Why there is no answer, in the words of the API; where it was never reached, in ours. */
export class Failure extends Error {
  override readonly name = 'Failure';

  constructor(
    readonly sentence: string,
    readonly code: string,
    readonly status: number,
    readonly requestId: string | undefined,
    readonly details: readonly string[],
  ) {
    super(sentence);
  }
}

/** @param body what was answered; anything, as something before the server may have answered in its place. */
export function failureOf(status: number, body: unknown): Failure {
  const { error, code, requestId, details } = (
    typeof body === 'object' && body !== null ? body : {}
  ) as Record<string, unknown>;
  return new Failure(
    typeof error === 'string' ? error : `The answer was ${status}, without a reason`,
    typeof code === 'string' ? code : 'unexpected_answer',
    status,
    typeof requestId === 'string' ? requestId : undefined,
    Array.isArray(details) ? details.filter((line) => typeof line === 'string') : [],
  );
}

export function failureFrom(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown;
  if (thrown instanceof DOMException && thrown.name === 'TimeoutError')
    return new Failure('The server has not answered in time', 'no_answer', 0, undefined, []);
  return new Failure('The server could not be reached', 'not_reached', 0, undefined, []);
}
