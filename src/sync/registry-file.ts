import { isUtf8 } from 'node:buffer';
import type { IncomingVersion } from '../entries/catalogue-diff.js';
import {
  checkDocument,
  type CheckedDocument,
  MAX_DOCUMENT_BYTES,
  type Problem,
  sentenceOf,
  sizeProblem,
} from '../entries/document-check.js';
import { MAX_DEPTH } from '../entries/document-walk.js';
import { ENTRY_TYPES, type EntryType, findName } from '../entries/entry-types.js';
import { countKeys, repeatedKey } from '../entries/repeated-key.js';
import { type EntryFilter, passesFilter } from './entry-filter.js';
import { JsonSliceError, JsonSlicer, RepeatedKeyError, type Slice } from './json-slices.js';
import { TimeSlice } from './time-slice.js';

/** An entry of the file that is left out, and why. */
export interface Skipped {
  readonly type: EntryType;
  /** Its place in the list of the file. */
  readonly index: number;
  readonly name: string | null;
  readonly version: string | null;
  readonly reasons: string[];
}

export interface RegistryFile {
  readonly entries: IncomingVersion[];
  /** The first of them; the rest is only counted. */
  readonly skipped: Skipped[];
  readonly skippedCount: number;
  /** How many entries the filter left out, valid or not. */
  readonly filtered: number;
}

/** Skipped entries that are told one by one. */
const MAX_REPORTED = 500;
const MAX_SKIPPED = 100_000;

/** The file as a whole can't be used; the message is a sentence for the operator. */
export class RegistryFileError extends Error {}

/**
 * Reads a catalogue in the registry format: `version`, `meta.last_updated`, `data.servers` and optionally `data.skills`.
 * A bad entry is skipped with its reasons, and so is the second of two with one name and version. Plugins are passed
 * over. Works in short slices of time.
 *
 * @throws RegistryFileError when the text is no such file, or when none of its entries is valid.
 */
export async function readRegistryFile(bytes: Buffer, filter: EntryFilter | null): Promise<RegistryFile> {
  if (!isUtf8(bytes)) throw new RegistryFileError('The file is not UTF-8 text');
  const types = new Map(
    Object.entries(ENTRY_TYPES).map(([type, row]) => [row.listKey as string, type as EntryType]),
  );
  const slicer = new JsonSlicer(withoutMark(bytes), [...types.keys(), 'plugins'], MAX_DOCUMENT_BYTES);
  const reader = new EntryReader(filter);
  const slice = new TimeSlice();
  try {
    for await (const element of slicer.slices()) {
      const type = types.get(element.list);
      const unread = unreadable(element);
      const value = unread ? null : parse(element.text ?? '', `data.${element.list}[${element.index}]`);
      if (type) reader.read(type, element, value, unread);
      await slice.pause();
    }
    const skeleton = parse(slicer.skeleton, 'the text around the entries');
    if (countKeys(skeleton) !== slicer.skeletonKeys)
      throw new RepeatedKeyError(repeatedKey(slicer.skeleton) ?? '');
    checkSkeleton(skeleton);
  } catch (error) {
    if (error instanceof RepeatedKeyError)
      throw new RegistryFileError(
        `The key "${storable(error.path)}" is given twice in the file, and only one of the two would be read`,
      );
    if (error instanceof JsonSliceError)
      throw new RegistryFileError(`The file is not valid JSON: ${error.message}`);
    throw error;
  }
  return reader.result();
}

class EntryReader {
  private readonly entries: IncomingVersion[] = [];
  private readonly skipped: Skipped[] = [];
  private readonly seen = new Set<string>();
  private skippedCount = 0;
  private filtered = 0;
  /** The filter may leave out everything; that nothing at all is valid is taken for an accident. */
  private foundValid = false;

  constructor(private readonly filter: EntryFilter | null) {}

  /** @param unread why the element was not even parsed, if it was not. */
  read(type: EntryType, { index, text, keys }: Slice, document: unknown, unread: Problem | null): void {
    const { problems, version }: CheckedDocument = unread
      ? { problems: [unread] }
      : checkDocument(type, document, { text: text ?? '', keys });
    const isSecond = version !== undefined && this.isSecond(version);
    if (version) this.foundValid = true;
    // What the filter leaves out is none of this source's business, valid or not.
    if (this.leavesOut(type, document)) this.filtered += 1;
    else if (!version) this.skip(type, index, document, problems.map(sentenceOf));
    else if (isSecond)
      this.skip(type, index, document, ['the file holds this name and version twice; the first one counts']);
    else this.entries.push(version);
  }

  result(): RegistryFile {
    const { entries, skipped, skippedCount, filtered } = this;
    const [first] = skipped;
    if (first && !this.foundValid) throw new RegistryFileError(noneIsValid(first, skippedCount + filtered));
    if (entries.length + skippedCount + filtered === 0)
      throw new RegistryFileError('The file holds no entries');
    return { entries, skipped, skippedCount, filtered };
  }

  private isSecond({ type, name, version }: IncomingVersion): boolean {
    const key = `${type}\0${name}\0${version}`;
    if (this.seen.has(key)) return true;
    this.seen.add(key);
    return false;
  }

  private leavesOut(type: EntryType, document: unknown): boolean {
    if (!this.filter || !isRecord(document)) return false;
    const name = findName(type, document);
    return name !== undefined && !passesFilter(this.filter, name, ENTRY_TYPES[type].tagsOf(document));
  }

  private skip(type: EntryType, index: number, document: unknown, reasons: string[]): void {
    this.skippedCount += 1;
    if (this.skippedCount > MAX_SKIPPED)
      throw new RegistryFileError(`More than ${MAX_SKIPPED} entries are not valid: this is no catalogue`);
    if (this.skipped.length >= MAX_REPORTED) return;
    const told = (key: string) => {
      const value: unknown = isRecord(document) ? document[key] : undefined;
      // What names itself at length, or with a NUL the database can't keep, goes by its index alone.
      return typeof value === 'string' && value.length <= 255 ? storable(value) : null;
    };
    const text = reasons.map(storable);
    this.skipped.push({ type, index, name: told('name'), version: told('version'), reasons: text });
  }
}

function noneIsValid({ type, index, name, version, reasons }: Skipped, count: number): string {
  const called = [name, version].filter((part) => part !== null && part !== '').join(' ');
  const first = `data.${ENTRY_TYPES[type].listKey}[${index}]${called === '' ? '' : ` (${called})`}`;
  return `None of the ${count} entries is valid; the first, ${first}: ${reasons[0] ?? 'is not valid'}`;
}

// The parser's own message quotes the text, and an administrator may have named a file that is no catalogue but a secret.
function parse(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new JsonSliceError(`${where} is malformed`);
  }
}

// PostgreSQL's text and jsonb take neither NUL nor half a surrogate pair.
function storable(text: string): string {
  return text.replaceAll(/\0|\p{Surrogate}/gu, '\ufffd');
}

// Parsing a text of very many levels or of any size would take too long at a stretch.
function unreadable({ bytes, depth }: Slice): Problem | null {
  if (bytes > MAX_DOCUMENT_BYTES) return sizeProblem(bytes);
  if (depth > MAX_DEPTH)
    return { path: '', message: `is nested ${depth} levels deep, at most ${MAX_DEPTH} are allowed` };
  return null;
}

function checkSkeleton(file: unknown): void {
  if (!isRecord(file)) throw new RegistryFileError('The file is not a JSON object');
  const { data, version, meta } = file;
  if (data === undefined && ['servers', 'remote_servers', 'groups'].some((key) => file[key] !== undefined))
    throw new RegistryFileError(
      'This looks like the legacy ToolHive registry format (top-level servers, remote_servers or groups). ' +
        'Convert it to the current registry format, which has version, meta and data.servers',
    );
  const problems: string[] = [];
  if (typeof version !== 'string' || !/^\d+\.\d+\.\d+$/.test(version))
    problems.push('version: must be a string such as "1.0.0"');
  const updated = isRecord(meta) ? meta['last_updated'] : undefined;
  if (
    typeof updated !== 'string' ||
    !/^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/.test(updated) ||
    Number.isNaN(Date.parse(updated))
  )
    problems.push('meta.last_updated: must be an RFC 3339 date and time');
  if (!isRecord(data)) problems.push('data: must be an object');
  else {
    if (!Array.isArray(data['servers'])) problems.push('data.servers: must be an array');
    for (const list of ['skills', 'plugins'])
      if (data[list] !== undefined && !Array.isArray(data[list]))
        problems.push(`data.${list}: must be an array`);
  }
  if (problems.length > 0)
    throw new RegistryFileError(`The file is not in the registry format: ${problems.join('; ')}`);
}

function withoutMark(bytes: Buffer): Buffer {
  return bytes.length >= 3 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
    ? bytes.subarray(3)
    : bytes;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
