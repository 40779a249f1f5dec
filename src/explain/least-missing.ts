import { type MissingClaim, withClaims } from '../claims/claims.js';

/** Of more values it would take long to find out which are needed. */
const MAX_VALUES = 50;
/** How often it may be asked whether something opens. */
const MAX_TRIES = 2_000;

/**
 * The least of several sets of missing values that opens something (contract §10), with nothing in it that is not needed: with
 * all of it the thing is open, and with all but one value it is not.
 *
 * @param candidates what could be added.
 * @param opens whether somebody who holds these claims is let in, by the code that lets in.
 * @param weight how many things are looked at to say whether it opens.
 * @returns undefined when none of them opens it, or only very many, or it would take too long to say.
 */
export function leastMissing<Missing extends MissingClaim>(
  held: Readonly<Record<string, unknown>>,
  candidates: readonly (readonly Missing[])[],
  opens: (held: Readonly<Record<string, unknown>>) => boolean,
  weight = 1,
): readonly Missing[] | undefined {
  let tries = MAX_TRIES / weight;
  const tryToOpen = (claims: Readonly<Record<string, unknown>>) => (tries -= 1) >= 0 && opens(claims);
  const opening: (readonly Missing[])[] = [];
  // The shortest first: of those that there is no time for, none is likely to be the least.
  const inOrder = candidates.map(withoutRepetitions).sort((one, other) => one.length - other.length);
  for (const missing of inOrder) {
    if (missing.length === 0 || missing.length > MAX_VALUES) continue;
    if (!tryToOpen(withClaims(held, missing))) continue;
    const least = needed(held, missing, tryToOpen);
    if (tries >= 0) opening.push(least);
  }
  return opening.sort((one, other) => one.length - other.length)[0];
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
  const first = new Map(missing.toReversed().map((one) => [JSON.stringify([one.key, one.needs]), one]));
  return missing.filter((one) => first.get(JSON.stringify([one.key, one.needs])) === one);
}
