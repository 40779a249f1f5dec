import { repeatedKey } from '../json/json-text.js';
import { documentDigest } from './document-digest.js';
import { MAX_DOCUMENT_BYTES } from './document-limits.js';
import { MAX_PROBLEMS, type Problem } from './document-problem.js';
import { walkDocument } from './document-walk.js';
import {
  type Document,
  ENTRY_TYPES,
  type EntryType,
  findName,
  initialStatus,
  searchTextOf,
} from './entry-types.js';
import type { IncomingVersion } from './incoming-version.js';

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
