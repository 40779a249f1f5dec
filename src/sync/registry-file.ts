import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { IncomingVersion } from '../entries/catalogue-diff.js';
import { sentenceOf } from '../entries/document-check.js';
import { countKeys, repeatedKey } from '../entries/repeated-key.js';
import { type Document, ENTRY_TYPES, type EntryType, searchTextOf } from '../entries/entry-types.js';
import { type EntryFilter, passesFilter } from './entry-filter.js';
import { JsonSliceError, JsonSlicer, RepeatedKeyError, type Slice } from './json-slices.js';
import { TimeSlice } from './time-slice.js';

const MAX_DOCUMENT_BYTES = 1024 * 1024;
const MAX_DEPTH = 100;

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
  readonly skipped: Skipped[];
  /** How many valid entries the filter left out. */
  readonly filtered: number;
}

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
      const tooLarge = sizeProblem(element);
      const text = tooLarge === null ? (element.text ?? '') : 'null';
      const value = parse(text, `data.${element.list}[${element.index}]`);
      if (type) reader.read(type, { ...element, text }, value, tooLarge);
      await slice.pause();
    }
    const skeleton = parse(slicer.skeleton, 'the text around the entries');
    if (countKeys(skeleton) !== slicer.skeletonKeys)
      throw new RepeatedKeyError(repeatedKey(slicer.skeleton) ?? '');
    checkSkeleton(skeleton);
  } catch (error) {
    if (error instanceof RepeatedKeyError)
      throw new RegistryFileError(
        `The key "${error.path}" is given twice in the file, and only one of the two would be read`,
      );
    if (error instanceof JsonSliceError)
      throw new RegistryFileError(`The file is not valid JSON: ${error.message}`);
    throw error;
  }
  return reader.result();
}

type ReadSlice = Slice & { readonly text: string };

class EntryReader {
  private readonly entries: IncomingVersion[] = [];
  private readonly skipped: Skipped[] = [];
  private readonly seen = new Set<string>();
  private filtered = 0;

  constructor(private readonly filter: EntryFilter | null) {}

  /** @param tooLarge why the element was not even parsed, if it was not. */
  read(type: EntryType, slice: ReadSlice, document: unknown, tooLarge: string | null): void {
    const reasons = tooLarge === null ? ENTRY_TYPES[type].check(document).map(sentenceOf) : [tooLarge];
    if (reasons.length === 0 && countKeys(document) !== slice.keys) {
      const path = repeatedKey(slice.text) ?? '';
      reasons.push(`${path}: the key is given twice in one object`);
    }
    if (reasons.length > 0) {
      this.skip(type, slice, document, reasons);
      return;
    }
    this.take(type, slice, document as Document);
  }

  result(): RegistryFile {
    const { entries, skipped, filtered } = this;
    if (entries.length === 0 && filtered === 0)
      throw new RegistryFileError(
        skipped[0]
          ? `None of the ${skipped.length} entries is valid; the first: ${skipped[0].reasons.join('; ')}`
          : 'The file holds no entries',
      );
    return { entries, skipped, filtered };
  }

  private take(type: EntryType, slice: ReadSlice, document: Document): void {
    const name = ENTRY_TYPES[type].nameOf(document);
    const version = String(document['version']);
    const key = `${type}\0${name}\0${version}`;
    if (this.seen.has(key)) {
      this.skip(type, slice, document, ['the file holds this name and version twice; the first one counts']);
      return;
    }
    this.seen.add(key);
    if (this.filter && !passesFilter(this.filter, name, ENTRY_TYPES[type].tagsOf(document))) {
      this.filtered += 1;
      return;
    }
    this.entries.push({
      type,
      name,
      version,
      text: slice.text,
      digest: createHash('sha256').update(slice.text).digest(),
      status: ENTRY_TYPES[type].statusOf(document),
      searchText: searchTextOf(type, document),
    });
  }

  private skip(type: EntryType, { index }: Slice, document: unknown, reasons: string[]): void {
    const told = (key: string) => {
      const value: unknown = isRecord(document) ? document[key] : undefined;
      // What names itself at length, or with a NUL the database can't keep, goes by its index alone.
      return typeof value === 'string' && value.length <= 255 ? storable(value) : null;
    };
    const text = reasons.map(storable);
    this.skipped.push({ type, index, name: told('name'), version: told('version'), reasons: text });
  }
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

function sizeProblem({ bytes, depth }: Slice): string | null {
  if (depth > MAX_DEPTH) return `is nested ${depth} levels deep, at most ${MAX_DEPTH} are allowed`;
  if (bytes > MAX_DOCUMENT_BYTES) return 'is larger than 1 MiB';
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
