import { hash } from 'node:crypto';
import type { Slice } from '../json/json-slices.js';
import { repeatedKey } from '../json/json-text.js';
import { member, pathOf } from '../json/json-values.js';
import {
  MAX_DEPTH,
  MAX_DOCUMENT_BYTES,
  MAX_PROBLEMS,
  MAX_DOCUMENT_VALUES,
  type DocumentProblem,
} from './document-problem.js';
import {
  type Document,
  ENTRY_TYPES,
  type EntryType,
  findName,
  type IncomingVersion,
  initialStatus,
  searchTextOf,
} from './entry-types.js';
import { PUBLISHER_PROVIDED } from './document-rules.js';

export { type DocumentProblem, formatProblem } from './document-problem.js';

/** Returns the SHA-256 of a document as it is stored, in UTF-8. */
export function documentDigest(document: string | Buffer): Buffer {
  return hash('sha256', document, 'buffer');
}

/** Visits every value of a parsed document, up to the limits of depth and number. Never throws. */
class Walker {
  /** The number of keys in all objects. */
  keys = 0;
  /** Set if the document is nested too deeply, or has too many values, to be read cheaply every time. */
  beyondLimit: DocumentProblem | undefined;
  /** Values that would change when the document is served. */
  readonly unservable: DocumentProblem[] = [];
  private values = 0;
  private readonly path: (string | number)[] = [];

  /** @param serialized whether the document will be serialized, which must not change it. */
  constructor(private readonly serialized: boolean) {}

  visit(value: unknown): void {
    this.values += 1;
    if (this.values > MAX_DOCUMENT_VALUES) this.beyondLimit ??= TOO_MANY_VALUES;
    if (this.beyondLimit) return;
    this.checkScalar(value);
    if (typeof value !== 'object' || value === null) return;
    if (this.path.length >= MAX_DEPTH) {
      this.beyondLimit = {
        path: pathOf(this.path),
        message: `is nested more than ${MAX_DEPTH} levels deep`,
      };
    } else if (Array.isArray(value)) for (const [index, item] of value.entries()) this.enterItem(index, item);
    else for (const [key, member] of Object.entries(value)) this.enterMember(key, member);
  }

  private enterMember(key: string, member: unknown): void {
    this.keys += 1;
    this.path.push(key);
    this.checkKey(key);
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
    if (this.serialized && key === '__proto__') this.report('is a forbidden key');
  }

  private checkScalar(value: unknown): void {
    if (typeof value === 'string') this.checkText(value, '');
    // JSON.parse reads 1e999 as Infinity, which JSON.stringify writes as null. Strict parsers refuse it.
    else if (typeof value === 'number' && !Number.isFinite(value))
      this.report('is a number that is too large');
  }

  private checkText(text: string, subject: string): void {
    if (this.serialized && text.includes('\0')) this.report(`${subject}contains a NUL character`);
    if (!text.isWellFormed()) this.report(`${subject}contains an unpaired surrogate (half a character)`);
  }

  private report(message: string): void {
    if (this.unservable.length < MAX_PROBLEMS) this.unservable.push({ path: pathOf(this.path), message });
  }
}

/** The text of a synced document. */
export interface SyncedText {
  /** The document without white space between tokens, no longer than the limit; stored unchanged. */
  readonly text: string;
  /** The number of keys, counting duplicates. */
  readonly keys: number;
}

/** The problems of a document, at most 20, or the version to store. */
export type CheckedDocument =
  | { readonly problems: readonly [DocumentProblem, ...DocumentProblem[]]; readonly version?: undefined }
  | { readonly problems: readonly []; readonly version: IncomingVersion };

/** Stands for a document that was checked in another thread. */
export class CheckedElsewhere {
  constructor(readonly result: CheckedDocument) {}
}

/** Restores a version that another thread sent, whose buffers arrive as plain byte arrays. */
export function receivedVersion(version: IncomingVersion): IncomingVersion {
  return { ...version, document: bufferOf(version.document), digest: bufferOf(version.digest) };
}

function bufferOf({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

/**
 * Checks a synced or published document before it is stored: the rules of its type, the limits of 1 MiB, 100 levels and
 * 20,000 values, and that every JSON parser reads it (no unpaired surrogates, no 1e999). Accepts any value that JSON.parse
 * returns and never throws.
 *
 * @param sourceText the text of a synced document. It is stored unchanged (decision 002), so duplicate keys are
 *   rejected. A published document is serialized again: values that this could change (`__proto__`, NUL) are rejected,
 *   because the publisher can correct them.
 */
export function checkDocument(type: EntryType, document: unknown, sourceText?: SyncedText): CheckedDocument {
  if (document instanceof CheckedElsewhere) return document.result;
  const walker = new Walker(sourceText === undefined);
  walker.visit(document);
  const { keys, beyondLimit, unservable } = walker;
  if (beyondLimit) return { problems: [beyondLimit] };
  const text = Buffer.from(sourceText?.text ?? JSON.stringify(document) ?? '');
  if (text.length > MAX_DOCUMENT_BYTES) return { problems: [sizeProblem(text.length)] };
  const [first, ...others] = [
    ...ENTRY_TYPES[type].check(document),
    ...unservable,
    ...(sourceText ? repeatedKeyProblems(sourceText, keys) : []),
  ].slice(0, MAX_PROBLEMS);
  if (first) return { problems: [first, ...others] };
  return { problems: [], version: versionOf(type, document as Document, text) };
}

const TOO_MANY_VALUES: DocumentProblem = {
  path: '',
  message: `has more than ${MAX_DOCUMENT_VALUES} values, including objects and lists`,
};

/**
 * Returns the problem with a document whose publisher's block, as compact JSON, is longer than `maxBytes`
 * (`limits.publisherMeta`). The block has no schema and is part of every response with the document.
 */
export function publisherBlockProblem(document: Buffer, maxBytes: number): DocumentProblem | undefined {
  if (document.length <= maxBytes) return undefined;
  const block = member(member(JSON.parse(document.toString()), '_meta'), PUBLISHER_PROVIDED);
  const bytes = block === undefined ? 0 : Buffer.byteLength(JSON.stringify(block));
  if (bytes <= maxBytes) return undefined;
  const message = `has ${bytes} bytes as compact JSON, at most ${maxBytes} are allowed (limits.publisherMeta)`;
  return { path: pathOf(['_meta', PUBLISHER_PROVIDED]), message };
}

/** Returns a checked document, or its problem if the publisher's block is too long. */
export function withinPublisherLimit(checked: CheckedDocument, maxBytes: number): CheckedDocument {
  const problem = checked.version && publisherBlockProblem(checked.version.document, maxBytes);
  return problem ? { problems: [problem] } : checked;
}

function sizeProblem(bytes: number): DocumentProblem {
  return {
    path: '',
    message: `has ${bytes} bytes as compact JSON, at most ${MAX_DOCUMENT_BYTES} (1 MiB) are allowed`,
  };
}

/**
 * Returns why the text of a document must not be parsed: parsing it would take too long.
 *
 * @param around the size of the list item around the document, if it has one.
 */
export function unreadableProblem(
  { bytes, depth, values }: Pick<Slice, 'bytes' | 'depth' | 'values'>,
  around = { bytes: 0, depth: 0, values: 0 },
): DocumentProblem | null {
  if (bytes > MAX_DOCUMENT_BYTES + around.bytes) return sizeProblem(bytes);
  if (depth > MAX_DEPTH + around.depth)
    return { path: '', message: `is nested more than ${MAX_DEPTH} levels deep` };
  return values > MAX_DOCUMENT_VALUES + around.values ? TOO_MANY_VALUES : null;
}

function repeatedKeyProblems({ text, keys: keysInText }: SyncedText, keys: number): DocumentProblem[] {
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
