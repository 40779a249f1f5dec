import { unreadableProblem } from '../../documents/document-check.js';
import { MAX_DOCUMENT_BYTES } from '../../documents/document-problem.js';
import { ENTRY_TYPE_NAMES, ENTRY_TYPES, type EntryType } from '../../documents/entry-types.js';
import { JsonSlicer, type Slice } from '../../json/json-slices.js';
import { parseText } from '../../json/json-text.js';
import { isObject } from '../../json/json-values.js';
import type { UncheckedDocument } from '../entry-validator.js';
import { FormatError, type JsonReader } from './source-content.js';
import { readSlices } from './sliced-file.js';

const TYPES = new Map(ENTRY_TYPE_NAMES.map((type): [string, EntryType] => [ENTRY_TYPES[type].listKey, type]));

/**
 * Reads a file in the registry format: `version`, `meta.last_updated`, `data.servers` and optional lists of other
 * types.
 */
export const readRegistryFile: JsonReader = (bytes, validator) => {
  const slicer = new JsonSlicer(bytes, [...TYPES.keys()], MAX_DOCUMENT_BYTES);
  checkSkeleton(readSlices(slicer, validator, candidate));
};

function candidate(slice: Slice): UncheckedDocument {
  const { list, index, text, keys } = slice;
  const type = TYPES.get(list);
  if (!type) throw new Error(`The list ${list} has no type`);
  const readProblem = unreadableProblem(slice);
  const document = readProblem ? null : parseText(text ?? '', `data.${list}[${index}]`);
  return { type, index, document, written: { text: text ?? '', keys }, readProblem };
}

function checkSkeleton(file: unknown): void {
  if (!isObject(file)) throw new FormatError('The file is not a JSON object');
  const { data, version, meta } = file;
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
  if (problems.length === 0) return;
  const others =
    data === undefined ? ', and is not a list of servers, a server document or a marketplace' : '';
  throw new FormatError(`The file is not in the registry format${others}: ${problems.join('; ')}`);
}
