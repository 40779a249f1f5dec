import { claimsProblems } from '../claims/claim-rules.js';
import type { Claims } from '../claims/claims.js';
import { repeatedKey } from '../json/json-text.js';
import { API_GROUP } from './custom-resources.js';

/** What an annotation is called in sentences, and on objects. */
export function annotationKey(name: string): string {
  return `${API_GROUP}/${name}`;
}

/** The annotations of one object, as far as they are for the registry. */
export class Annotations {
  constructor(private readonly all: unknown) {}

  /** Undefined when it is absent, or holds nothing but white space. */
  text(name: string): string | undefined {
    const key = annotationKey(name);
    if (typeof this.all !== 'object' || this.all === null || !Object.hasOwn(this.all, key)) return undefined;
    const value: unknown = (this.all as Record<string, unknown>)[key];
    return typeof value === 'string' && value.trim() !== '' ? value : undefined;
  }

  /** Exactly "true": an object is exported by intent, not by a typing error. */
  get isExported(): boolean {
    return this.text('registry-export') === 'true';
  }

  /** Absent or empty: no claims. A mistake in them must hide the object, so it is never ignored. */
  claims(): { claims: Claims } | { problem: string } {
    const text = this.text('authz-claims');
    if (text === undefined) return { claims: {} };
    const invalid = (problem: string) => ({
      problem: `the annotation ${annotationKey('authz-claims')} ${problem}`,
    });
    const value = parse(text);
    if (value === undefined) return invalid('is not valid JSON');
    const problems = claimsProblems(value);
    if (problems.length > 0) return invalid(`is no map of claims: ${problems.join('; ')}`);
    const repeated = repeatedKey(text);
    if (repeated !== null) return invalid(`holds the claim ${JSON.stringify(repeated)} twice`);
    return { claims: value as Claims };
  }

  /** A JSON array whose items all pass; undefined when absent, null when it is something else. */
  list<T>(name: string, isItem: (item: unknown) => item is T): T[] | null | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = parse(text);
    return Array.isArray(value) && value.every(isItem) ? value : null;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
