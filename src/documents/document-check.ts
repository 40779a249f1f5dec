import { hash } from 'node:crypto';
import { repeatedKey } from '../json/json-text.js';
import { pathOf } from '../json/json-values.js';
import { MAX_DEPTH, MAX_DOCUMENT_BYTES, MAX_PROBLEMS, type Problem } from './document-problem.js';
import {
  type Document,
  ENTRY_TYPES,
  type EntryType,
  findName,
  type IncomingVersion,
  initialStatus,
  searchTextOf,
} from './entry-types.js';

export { type Problem, formatProblem } from './document-problem.js';

/** Returns the SHA-256 of a document as it is stored, in UTF-8. */
export function documentDigest(document: string | Buffer): Buffer {
  return hash('sha256', document, 'buffer');
}

/** The result of visiting every value of a document. */
export interface WalkResult {
  /** The number of keys in all objects. */
  readonly keys: number;
  /** Set if the document is nested too deeply for recursive code. */
  readonly tooDeep: Problem | undefined;
  /** Values that parsing and serializing would change. */
  readonly notRoundTrippable: readonly Problem[];
}

/**
 * Visits every value of a parsed document, at most `MAX_DEPTH` levels deep. Never throws.
 *
 * @param serialized whether the document will be serialized; otherwise `notRoundTrippable` stays empty.
 */
function walkDocument(document: unknown, serialized: boolean): WalkResult {
  const keys = serialized ? NaN : countKeysWithin(document, MAX_DEPTH);
  if (!Number.isNaN(keys)) return { keys, tooDeep: undefined, notRoundTrippable: [] };
  const walker = new Walker(serialized);
  walker.visit(document);
  return walker;
}

/** Counts the keys of all objects in a parsed value. Returns NaN if the value is nested deeper than `levels`. */
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
    // Assigning this key to another object would set the object's prototype and lose the key.
    if (key === '__proto__') this.report('is a forbidden key');
  }

  private checkScalar(value: unknown): void {
    if (typeof value === 'string') this.checkText(value, '');
    // JSON.parse reads 1e999 as Infinity, which JSON.stringify writes as null.
    else if (typeof value === 'number' && !Number.isFinite(value))
      this.report('is a number that is too large');
  }

  private checkText(text: string, subject: string): void {
    if (text.includes('\0')) this.report(`${subject}contains a NUL character`);
    if (/\p{Surrogate}/u.test(text))
      this.report(`${subject}contains an unpaired surrogate (half a character)`);
  }

  private report(message: string): void {
    if (this.notRoundTrippable.length < MAX_PROBLEMS)
      this.notRoundTrippable.push({ path: pathOf(this.path), message });
  }
}

/** The text of a synced document. */
export interface SourceText {
  /** Without white space between tokens, no longer than the limit; stored unchanged. */
  readonly text: string;
  /** The number of keys, counting duplicates. */
  readonly keys: number;
}

/** The problems of a document, at most 20, or the version to store. */
export type CheckedDocument =
  | { readonly problems: readonly [Problem, ...Problem[]]; readonly version?: undefined }
  | { readonly problems: readonly []; readonly version: IncomingVersion };

/** Stands for a document that was checked in another thread. */
export class CheckedElsewhere {
  constructor(readonly result: CheckedDocument) {}
}

/**
 * Checks a synced or published document before it is stored: the rules of its type, and the limits of 1 MiB and 100
 * levels. Accepts any value that JSON.parse returns and never throws.
 *
 * @param sourceText the text of a synced document. It is stored unchanged (decision 002), so duplicate keys are
 *   rejected. A published document is serialized again: values that would change or are not valid text (`__proto__`,
 *   NUL, unpaired surrogates, 1e999) are rejected, because the publisher can correct them.
 */
export function checkDocument(type: EntryType, document: unknown, sourceText?: SourceText): CheckedDocument {
  if (document instanceof CheckedElsewhere) return document.result;
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

/** Returns the problem of a document that is too large. */
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
