import { pathOf } from '../json/json-values.js';
import { MAX_DEPTH } from './document-limits.js';
import { MAX_PROBLEMS, type Problem } from './document-problem.js';

/** What is found by visiting every value of a document. */
export interface WalkResult {
  /** The keys of all its objects. */
  readonly keys: number;
  /** Nested too deep for anything that recurses: nothing else may be done with the document. */
  readonly tooDeep: Problem | undefined;
  /** What would not come back as it was given, once parsed and serialized anew. */
  readonly notRoundTrippable: readonly Problem[];
}

/**
 * Visits every value of a parsed document, at most `MAX_DEPTH` levels down. Throws for no document.
 *
 * @param serialized whether the document will be serialized anew; otherwise nothing is `notRoundTrippable`.
 */
export function walkDocument(document: unknown, serialized: boolean): WalkResult {
  const keys = serialized ? NaN : countKeysWithin(document, MAX_DEPTH);
  if (!Number.isNaN(keys)) return { keys, tooDeep: undefined, notRoundTrippable: [] };
  const walker = new Walker(serialized);
  walker.visit(document);
  return walker;
}

/** The keys of all objects of a parsed value; NaN when it is nested deeper than that. */
function countKeysWithin(value: unknown, levels: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (levels === 0) return NaN;
  let keys = 0;
  if (Array.isArray(value)) for (const item of value) keys += countKeysWithin(item, levels - 1);
  else
    for (const key in value) keys += 1 + countKeysWithin((value as Record<string, unknown>)[key], levels - 1);
  return keys;
}

class Walker implements WalkResult {
  keys = 0;
  tooDeep: Problem | undefined;
  readonly notRoundTrippable: Problem[] = [];
  private readonly path: (string | number)[] = [];

  constructor(private readonly serialized: boolean) {}

  visit(value: unknown): void {
    if (this.serialized) this.checkScalar(value);
    if (typeof value !== 'object' || value === null || this.tooDeep) return;
    if (this.path.length >= MAX_DEPTH) {
      this.tooDeep = {
        path: pathOf(this.path),
        message: `is nested more than ${MAX_DEPTH} levels deep`,
      };
    } else if (Array.isArray(value)) for (const [index, item] of value.entries()) this.enterItem(index, item);
    else for (const [key, member] of Object.entries(value)) this.enterMember(key, member);
  }

  private enterMember(key: string, member: unknown): void {
    this.keys += 1;
    this.path.push(key);
    if (this.serialized) this.checkKey(key);
    this.visit(member);
    this.path.pop();
  }

  private enterItem(index: number, item: unknown): void {
    this.path.push(index);
    this.visit(item);
    this.path.pop();
  }

  private checkKey(key: string): void {
    this.checkText(key, 'its key ');
    // Copied into another object by assignment, it would become the object's prototype and vanish.
    if (key === '__proto__') this.report('is a key that no document may have');
  }

  private checkScalar(value: unknown): void {
    if (typeof value === 'string') this.checkText(value, '');
    // JSON.parse reads 1e999 as Infinity, which JSON.stringify writes as null.
    else if (typeof value === 'number' && !Number.isFinite(value)) this.report('is too large a number');
  }

  private checkText(text: string, what: string): void {
    if (text.includes('\0')) this.report(`${what}holds a NUL character`);
    if (/\p{Surrogate}/u.test(text))
      this.report(`${what}holds half a character (a surrogate without its pair)`);
  }

  private report(message: string): void {
    if (this.notRoundTrippable.length < MAX_PROBLEMS)
      this.notRoundTrippable.push({ path: pathOf(this.path), message });
  }
}
