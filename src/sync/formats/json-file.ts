import type { IncomingVersion } from '../../documents/entry-types.js';
import { EntryValidator, type MemoryCounter, type ReadEntries } from '../entry-validator.js';
import { findFormat } from './found-format.js';
import { FormatError, type FormatSettings, type JsonFormat, type JsonReader } from './source-content.js';
import { readRegistryFile } from './registry-file.js';
import { readServersFile } from './servers-file.js';
import { jsonText } from './sliced-file.js';

/** The formats that a single JSON file can have. */
const READERS = {
  registry: readRegistryFile,
  servers: readServersFile,
  marketplace: () => {
    throw new FormatError('The marketplace is larger than 4 MiB, the maximum');
  },
} as const satisfies Record<JsonFormat, JsonReader>;

export interface JsonContent extends ReadEntries {
  readonly format: JsonFormat;
}

/**
 * Reads a JSON file in its format. Invalid and duplicate entries are skipped with their reasons.
 *
 * @param memory counts the size of the entries; the caller has already counted `bytes`.
 * @param onEntry receives the entries, as in `EntryValidator`.
 * @throws FormatError if the file is malformed or none of its entries is valid.
 * @throws ReadMemoryError if the entries take too much memory.
 */
export function readJsonFile(
  bytes: Buffer,
  settings: FormatSettings,
  memory: MemoryCounter,
  onEntry?: (version: IncomingVersion) => void,
): JsonContent {
  const text = jsonText(bytes);
  // The registry reader reports what is wrong with a file that fits no format.
  const format = settings.format ?? findFormat(text) ?? 'registry';
  if (format === 'skills') throw new FormatError('Skills are folders, and this is a file: specify a folder');
  const validator = new EntryValidator(settings.filter, {
    memory,
    onEntry,
    onDuplicate: { skipBecause: 'the file contains this name and version twice; the first one is used' },
  });
  try {
    READERS[format](text, validator, settings);
    // The filter may exclude every entry, but a file without any valid entry is probably a mistake.
    const none = validator.noneIsValid(format === 'registry' ? 'data.' : '');
    if (none !== null) throw new FormatError(none);
  } catch (error) {
    const found = error instanceof FormatError ? findFormat(text) : null;
    if (found !== null && found !== format)
      throw new FormatError(`The file has the format ${found}, but the source has the format ${format}`);
    throw error;
  }
  return { ...validator.result(), format };
}
