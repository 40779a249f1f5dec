import { createHash } from 'node:crypto';
import type { IncomingVersion } from './incoming-version.js';
import { MAX_PROBLEMS, type Problem } from './document-problem.js';
import { walk } from './document-walk.js';
import {
  type Document,
  ENTRY_TYPES,
  type EntryType,
  findName,
  initialStatus,
  searchTextOf,
} from './entry-types.js';
import { repeatedKey } from '../json/repeated-key.js';

export { type Problem, sentenceOf } from './document-problem.js';

/** The longest document that is stored, as compact JSON in UTF-8. */
export const MAX_DOCUMENT_BYTES = 1024 * 1024;

/** How a document was written, where that is known. */
export interface Written {
  /** Its text without the white space between tokens, no longer than the limit; stored as it is. */
  readonly text: string;
  /** Its keys, counted where they are written. */
  readonly keys: number;
}

/** Everything wrong with a document, at most 20 problems; or the version to store. */
export type CheckedDocument =
  | { readonly problems: readonly [Problem, ...Problem[]]; readonly version?: undefined }
  | { readonly problems: readonly []; readonly version: IncomingVersion };

/**
 * The one door to the database for documents, synced and published alike: the rules of their type, 1 MiB, 100 levels. For
 * any value that JSON.parse can give, it answers and does not throw.
 *
 * A document of a file comes as it was `written` and keeps its spelling (decision 002), so keys given twice are found. A
 * published one has been parsed on the way and is spelled anew: what would not survive that, or is no text to most
 * readers, is refused, because here somebody is there to be told (`__proto__`, NUL, half characters, 1e999).
 */
export function checkDocument(type: EntryType, document: unknown, written?: Written): CheckedDocument {
  const { keys, tooDeep, notRoundTrippable } = walk(document, written === undefined);
  if (tooDeep) return { problems: [tooDeep] };
  const text = written?.text ?? JSON.stringify(document) ?? '';
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_DOCUMENT_BYTES) return { problems: [sizeProblem(bytes)] };
  const [first, ...others] = [
    ...ENTRY_TYPES[type].check(document),
    ...(written ? repetition(written, keys) : notRoundTrippable),
  ].slice(0, MAX_PROBLEMS);
  if (first) return { problems: [first, ...others] };
  return { problems: [], version: versionOf(type, document as Document, text) };
}

/** What is said of a document that is too large, which need not even be parsed for it. */
export function sizeProblem(bytes: number): Problem {
  return {
    path: '',
    message: `has ${bytes} bytes as compact JSON, at most ${MAX_DOCUMENT_BYTES} (1 MiB) are allowed`,
  };
}

function repetition({ text, keys: written }: Written, keys: number): Problem[] {
  if (written === keys) return [];
  return [{ path: repeatedKey(text) ?? '', message: 'the key is given twice in one object' }];
}

function versionOf(type: EntryType, document: Document, text: string): IncomingVersion {
  return {
    type,
    name: findName(type, document) ?? '',
    version: String(document['version']),
    text,
    digest: createHash('sha256').update(text).digest(),
    status: initialStatus(type, document),
    searchText: searchTextOf(type, document),
  };
}
