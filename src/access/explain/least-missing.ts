import type { MissingClaim } from '../../claims/missing-claims.js';
import { withClaims } from '../../claims/missing-claims.js';

/**
 * The least of several sets of missing values that opens something (contract §10), with nothing in it that is not needed: with
 * all of it the thing is open, and with all but one value it is not.
 *
 * @param candidates what could be added.
 * @param opens whether somebody who holds these claims is let in, by the code that lets in.
 * @returns undefined when none of them opens it.
 */
export function leastMissing<Missing extends MissingClaim>(
  held: Readonly<Record<string, unknown>>,
  candidates: readonly (readonly Missing[])[],
  opens: (held: Readonly<Record<string, unknown>>) => boolean,
): readonly Missing[] | undefined {
  const opening = candidates
    .map(withoutRepetitions)
    .filter((missing) => missing.length > 0 && opens(withClaims(held, missing)))
    .map((missing) => needed(held, missing, opens))
    .sort((one, other) => one.length - other.length);
  return opening[0];
}

function needed<Missing extends MissingClaim>(
  held: Readonly<Record<string, unknown>>,
  missing: readonly Missing[],
  opens: (held: Readonly<Record<string, unknown>>) => boolean,
): readonly Missing[] {
  const index = missing.findIndex((_, left) => opens(withClaims(held, missing.toSpliced(left, 1))));
  return index === -1 ? missing : needed(held, missing.toSpliced(index, 1), opens);
}

function withoutRepetitions<Missing extends MissingClaim>(missing: readonly Missing[]): Missing[] {
  return missing.filter(
    ({ key, needs }, index) =>
      missing.findIndex((other) => other.key === key && other.needs === needs) === index,
  );
}
