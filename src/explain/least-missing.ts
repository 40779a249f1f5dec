import { type MissingClaim, withClaims } from '../claims/claims.js';
import { pauseIfDue } from '../limits/time-slice.js';

type Held = Readonly<Record<string, unknown>>;
type Opens = (held: Held) => boolean | Promise<boolean>;

/** Candidates with more values are skipped, because minimizing them would take too long. */
const MAX_VALUES = 50;
const MAX_TRIES = 2_000;

/**
 * Returns the smallest of several sets of missing values that grant access (reference/explain). The set is minimal: if any
 * one value is removed, access is refused.
 *
 * @param opens returns whether a caller with these claims has access, using the code that serves requests.
 * @param weight the number of checks per call to `opens`; a higher weight allows fewer tries.
 * @returns undefined if no candidate grants access, or if the tries run out.
 */
export async function leastMissing<Missing extends MissingClaim>(
  held: Held,
  candidates: readonly (readonly Missing[])[],
  opens: Opens,
  weight = 1,
): Promise<readonly Missing[] | undefined> {
  let tries = MAX_TRIES / weight;
  const tryToOpen = async (claims: Held) => {
    await pauseIfDue();
    return (tries -= 1) >= 0 && opens(claims);
  };
  const opening: (readonly Missing[])[] = [];
  // Starts with the shortest candidates, because the tries may run out.
  const inOrder = candidates.map(withoutRepetitions).sort((one, other) => one.length - other.length);
  for (const missing of inOrder) {
    if (missing.length === 0 || missing.length > MAX_VALUES) continue;
    if (!(await tryToOpen(withClaims(held, missing)))) continue;
    const least = await needed(held, missing, tryToOpen);
    if (tries >= 0) opening.push(least);
  }
  return opening.sort((one, other) => one.length - other.length)[0];
}

/** Removes values as long as the remaining ones still grant access. */
async function needed<Missing extends MissingClaim>(
  held: Held,
  missing: readonly Missing[],
  opens: Opens,
): Promise<readonly Missing[]> {
  for (const index of missing.keys()) {
    const rest = missing.toSpliced(index, 1);
    if (await opens(withClaims(held, rest))) return needed(held, rest, opens);
  }
  return missing;
}

export function withoutRepetitions<Missing extends MissingClaim>(missing: readonly Missing[]): Missing[] {
  const first = new Map(missing.toReversed().map((one) => [JSON.stringify([one.key, one.needs]), one]));
  return missing.filter((one) => first.get(JSON.stringify([one.key, one.needs])) === one);
}
