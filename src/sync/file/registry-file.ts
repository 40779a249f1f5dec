import { isUtf8 } from 'node:buffer';
import { type DocumentProblem, unreadableProblem } from '../../documents/document-check.js';
import { MAX_DOCUMENT_BYTES } from '../../documents/document-problem.js';
import {
  ENTRY_TYPE_NAMES,
  ENTRY_TYPES,
  type EntryType,
  type IncomingVersion,
  type SkippedVersion,
} from '../../documents/entry-types.js';
import { JsonSliceError, JsonSlicer, RepeatedKeyError, type Slice } from '../../json/json-slices.js';
import { parseSkeleton, parseText } from '../../json/json-text.js';
import { isObject } from '../../json/json-values.js';
import type { StoredFilter } from '../../sources/entry-filter.js';
import { toStorable } from '../../validation/storable-text.js';
import {
  type UncheckedDocument,
  EntryValidator,
  type MemoryCounter,
  type ReadEntries,
} from '../entry-validator.js';

const MAX_SKIPPED = 100_000;

/** The entire file is invalid. The message is for the operator. */
export class RegistryFileError extends Error {}

/**
 * Reads a file in the registry format: `version`, `meta.last_updated`, `data.servers` and optional lists of other
 * types. Invalid and duplicate entries are skipped with their reasons.
 *
 * @param memory counts the size of the entries; the caller has already counted `bytes`.
 * @param onEntry receives the entries, as in `EntryValidator`.
 * @throws RegistryFileError if the file is malformed or none of its entries is valid.
 * @throws ReadMemoryError if the entries take too much memory.
 */
export function readRegistryFile(
  bytes: Buffer,
  filter: StoredFilter | null,
  memory: MemoryCounter,
  { onEntry }: { readonly onEntry?: (version: IncomingVersion) => void } = {},
): ReadEntries {
  if (!isUtf8(bytes)) throw new RegistryFileError('The file is not UTF-8 text');
  const types = new Map(
    ENTRY_TYPE_NAMES.map((type): [string, EntryType] => [ENTRY_TYPES[type].listKey, type]),
  );
  const slicer = new JsonSlicer(withoutByteOrderMark(bytes), [...types.keys()], MAX_DOCUMENT_BYTES);
  const validator = new EntryValidator(filter, {
    memory,
    onEntry,
    onDuplicate: { skipBecause: 'the file contains this name and version twice; the first one is used' },
  });
  try {
    for (const element of slicer.slices()) {
      const type = types.get(element.list);
      const readProblem = unreadableProblem(element);
      const value = readProblem
        ? null
        : parseText(element.text ?? '', `data.${element.list}[${element.index}]`);
      if (type) validator.add(candidate(type, element, value, readProblem));
      if (validator.skippedCount > MAX_SKIPPED)
        throw new RegistryFileError(`The file has more than ${MAX_SKIPPED} invalid entries`);
    }
    checkSkeleton(parseSkeleton(slicer));
  } catch (error) {
    if (error instanceof RepeatedKeyError)
      throw new RegistryFileError(`The file contains the key "${toStorable(error.path)}" twice`);
    if (error instanceof JsonSliceError)
      throw new RegistryFileError(`The file is not valid JSON: ${error.message}`);
    throw error;
  }
  const content = validator.result();
  checkAnyValid(validator, content);
  return content;
}

function candidate(
  type: EntryType,
  { index, text, keys }: Slice,
  document: unknown,
  readProblem: DocumentProblem | null,
): UncheckedDocument {
  return { type, index, document, written: { text: text ?? '', keys }, readProblem };
}

// The filter may exclude every entry, but a file without any valid entry is probably a mistake.
function checkAnyValid(validator: EntryValidator, { skipped, filtered }: ReadEntries): void {
  const [first] = skipped;
  if (first && !validator.hasValid)
    throw new RegistryFileError(noneIsValid(first, validator.skippedCount + filtered));
}

function noneIsValid({ type, index = 0, name, version, reasons }: SkippedVersion, count: number): string {
  const label = [name, version].filter((part) => part !== null && part !== '').join(' ');
  const first = `data.${ENTRY_TYPES[type].listKey}[${index}]${label === '' ? '' : ` (${label})`}`;
  return `None of the ${count} entries is valid; the first, ${first}: ${reasons[0] ?? 'is not valid'}`;
}

function checkSkeleton(file: unknown): void {
  if (!isObject(file)) throw new RegistryFileError('The file is not a JSON object');
  const { data, version, meta } = file;
  if (data === undefined && ['servers', 'remote_servers', 'groups'].some((key) => file[key] !== undefined))
    throw new RegistryFileError(
      'This looks like the legacy ToolHive registry format (top-level servers, remote_servers or groups). ' +
        'Convert it to the current registry format, which has version, meta and data.servers',
    );
  const problems: string[] = [];
  if (typeof version !== 'string' || !/^\d+\.\d+\.\d+$/.test(version))
    problems.push('version: must be a string such as "1.0.0"');
  const updated = isObject(meta) ? meta['last_updated'] : undefined;
  if (
    typeof updated !== 'string' ||
    !/^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/.test(updated) ||
    Number.isNaN(Date.parse(updated))
  )
    problems.push('meta.last_updated: must be an RFC 3339 date and time');
  if (!isObject(data)) problems.push('data: must be an object');
  else {
    const lists = ENTRY_TYPE_NAMES.map((type) => ENTRY_TYPES[type]);
    for (const { listKey, isInEveryFile } of lists)
      if ((isInEveryFile || data[listKey] !== undefined) && !Array.isArray(data[listKey]))
        problems.push(`data.${listKey}: must be an array`);
  }
  if (problems.length > 0)
    throw new RegistryFileError(`The file is not in the registry format: ${problems.join('; ')}`);
}

function withoutByteOrderMark(bytes: Buffer): Buffer {
  return bytes.length >= 3 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
    ? bytes.subarray(3)
    : bytes;
}
