import { hash } from 'node:crypto';
import { repeatedKey } from '../json/json-text.js';
import { pathOf } from '../json/json-values.js';
import { MAX_DEPTH, MAX_DOCUMENT_BYTES, MAX_PROBLEMS, type Problem } from './document-problem.js';
import {
  type Document,
  ENTRY_TYPES,
  type EntryType,
  findName,
  initialStatus,
  searchTextOf,
} from './entry-types.js';
import type { IncomingVersion } from './incoming-version.js';

/** SHA-256 of a document as it is stored, in UTF-8: equal digests mean that it has not changed. */
export function documentDigest(document: string | Buffer): Buffer {
  return hash('sha256', document, 'buffer');
}

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

export { type Problem, formatProblem } from './document-problem.js';

/** The text a document was parsed from. */
export interface SourceText {
  /** Without the white space between tokens, no longer than the limit; stored as it is. */
  readonly text: string;
  /** Its keys, each counted as often as it is in the text. */
  readonly keys: number;
}

/** Everything wrong with a document, at most 20 problems; or the version to store. */
export type CheckedDocument =
  | { readonly problems: readonly [Problem, ...Problem[]]; readonly version?: undefined }
  | { readonly problems: readonly []; readonly version: IncomingVersion };

/** Compiles what documents are checked with, some tenths of a second: before there are requests that would wait for it. */
export function prepareChecks(): void {
  for (const { check } of Object.values(ENTRY_TYPES)) check({});
}

/**
 * The one door to the database for documents, synced and published alike: the rules of their type, 1 MiB, 100 levels. For
 * any value that JSON.parse can give, it answers and does not throw.
 *
 * A synced document comes with its `sourceText` and keeps its spelling (decision 002), so keys given twice are found. A
 * published one was parsed with its request and is serialized anew: what would not survive that, or is no text to most
 * readers, is refused, because its publisher can correct it (`__proto__`, NUL, half characters, 1e999).
 */
export function checkDocument(type: EntryType, document: unknown, sourceText?: SourceText): CheckedDocument {
  const { keys, tooDeep, notRoundTrippable } = walkDocument(document, sourceText === undefined);
  if (tooDeep) return { problems: [tooDeep] };
  const text = Buffer.from(sourceText?.text ?? JSON.stringify(document) ?? '');
  if (text.length > MAX_DOCUMENT_BYTES) return { problems: [sizeProblem(text.length)] };
  const [first, ...others] = [
    ...ENTRY_TYPES[type].check(document, text.length),
    ...(sourceText ? repeatedKeyProblems(sourceText, keys) : notRoundTrippable),
  ].slice(0, MAX_PROBLEMS);
  if (first) return { problems: [first, ...others] };
  return { problems: [], version: versionOf(type, document as Document, text) };
}

/** The problem of a document that is too large, which is known before it is parsed. */
export function sizeProblem(bytes: number): Problem {
  return {
    path: '',
    message: `has ${bytes} bytes as compact JSON, at most ${MAX_DOCUMENT_BYTES} (1 MiB) are allowed`,
  };
}

function repeatedKeyProblems({ text, keys: keysInText }: SourceText, keys: number): Problem[] {
  if (keysInText === keys) return [];
  return [{ path: repeatedKey(text) ?? '', message: 'the key is given twice in one object' }];
}

function versionOf(type: EntryType, document: Document, text: Buffer): IncomingVersion {
  return {
    type,
    name: findName(type, document) ?? '',
    version: String(document['version']),
    document: text,
    digest: documentDigest(text),
    status: initialStatus(type, document),
    searchText: searchTextOf(type, document),
  };
}
