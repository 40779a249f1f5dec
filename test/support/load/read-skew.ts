import { canonicalClaims } from '../../../dist/claims/claims.js';
import type { ModelState } from '../model/model.js';
import { expected } from './expected.js';
import type { NameQuestion, LoadQuestion } from './questions.js';

/**
 * What is shown when a request reads the registry, then the labels that are in use, then the rows, and the catalogue
 * changes in between: the registry of one state, the view of a later one and the entries of one later still. Every part of
 * it is true and the caller's to see, but an entry that moved from one label to another meanwhile is missed.
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
 * Is this shown when the parts of an answer are of different states?
 *
 * @param states those that the answer may tell of, the newest first.
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
    // Why a version is not there is asked once it was not found.
    const isWhy = question.ask === 'version' && said.startsWith('404') && shown === '404 version_not_found';
    return isWhy && later.some((state) => hasName(state, question));
  }

  function hasName(state: ModelState, question: NameQuestion): boolean {
    return expected(state, sort, { ...question, version: 'latest' }).startsWith('200');
  }
}
