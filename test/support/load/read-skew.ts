import { canonicalClaims } from '../../../dist/claims/claims.js';
import type { ModelState } from '../model/model.js';
import { expected } from './expected.js';
import type { NameQuestion, LoadQuestion } from './questions.js';

/**
 * The result when a request reads the registry, then the claim sets in use, then the rows, and the catalog
 * changes in between: the registry, the view and the entries are from successive states. Each part is true and
 * visible to the caller, but an entry whose claims changed meanwhile is missing.
 */
function mixed(registry: ModelState, view: ModelState, rows: ModelState): ModelState {
  const used = new Set(
    view.sources.flatMap(({ name, entries }) =>
      entries.map(({ claims }) => `${name} ${canonicalClaims(claims)}`),
    ),
  );
  const sources = rows.sources.map((source) => ({
    ...source,
    entries: source.entries.filter(({ claims }) => used.has(`${source.name} ${canonicalClaims(claims)}`)),
  }));
  return { ...rows, registries: registry.registries, sources };
}

/**
 * Whether this response mixes several states.
 * @param states the possible states, newest first.
 */
export function isSkewed(
  states: readonly ModelState[],
  sort: number,
  question: LoadQuestion,
  shown: string,
): boolean {
  return states.some((registry, first) =>
    states.slice(0, first + 1).some((view, second) =>
      states.slice(0, second + 1).some((rows, third) =>
        says(
          mixed(registry, view, rows),
          states.slice(0, third + 1).map((later) => mixed(registry, view, later)),
        ),
      ),
    ),
  );

  function says(state: ModelState, later: readonly ModelState[]): boolean {
    const said = expected(state, sort, question);
    if (said === shown) return true;
    // The reason for a 404 is determined after the lookup.
    const isReason =
      question.ask === 'version' && said.startsWith('404') && shown === '404 version_not_found';
    return isReason && later.some((state) => hasName(state, question));
  }

  function hasName(state: ModelState, question: NameQuestion): boolean {
    return expected(state, sort, { ...question, version: 'latest' }).startsWith('200');
  }
}
