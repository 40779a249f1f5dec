import { isUtf8 } from 'node:buffer';
import { JsonSliceError, type JsonSlicer, RepeatedKeyError, type Slice } from '../../json/json-slices.js';
import { parseSkeleton } from '../../json/json-text.js';
import { toStorable } from '../../validation/storable-text.js';
import type { EntryValidator, UncheckedDocument } from '../entry-validator.js';
import { FormatError } from './source-content.js';

const MAX_SKIPPED = 100_000;

/**
 * Adds the documents in the lists of a JSON file to a validator. Returns the parsed text around them.
 *
 * @throws FormatError if the text is not valid JSON, or has too many invalid entries.
 */
export function readSlices(
  slicer: JsonSlicer,
  validator: EntryValidator,
  candidateOf: (slice: Slice) => UncheckedDocument,
): unknown {
  return withFormatErrors(() => {
    for (const slice of slicer.slices()) {
      validator.add(candidateOf(slice));
      if (validator.skippedCount > MAX_SKIPPED)
        throw new FormatError(`The file has more than ${MAX_SKIPPED} invalid entries`);
    }
    return parseSkeleton(slicer);
  });
}

/** Turns errors about malformed JSON into sentences about the file. */
export function withFormatErrors<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof RepeatedKeyError)
      throw new FormatError(`The file contains the key "${toStorable(error.path)}" twice`);
    if (error instanceof JsonSliceError)
      throw new FormatError(`The file is not valid JSON: ${error.message}`);
    throw error;
  }
}

/** Returns a file without its byte order mark. */
export function jsonText(bytes: Buffer): Buffer {
  if (!isUtf8(bytes)) throw new FormatError('The file is not UTF-8 text');
  return bytes.length >= 3 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
    ? bytes.subarray(3)
    : bytes;
}
