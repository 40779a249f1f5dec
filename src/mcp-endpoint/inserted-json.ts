import { randomUUID } from 'node:crypto';
import { pauseIfDue } from '../limits/time-slice.js';

// Random, so that no client can send it. Valid base64, which the SDK requires of binary content.
const PLACE = randomUUID().replaceAll('-', '');
const PLACES = new RegExp(`(\\{"${PLACE}":true\\}|"${PLACE}")`);

/**
 * Placeholders for a document or a file in a result. The SDK would take the event loop tens of milliseconds to check, serialize
 * and encode one of a mebibyte.
 */
export const STRING_PLACE = PLACE;
export const OBJECT_PLACE = { [PLACE]: true };

/** JSON in UTF-8 that replaces the placeholders. */
export interface InsertedJson {
  readonly string: Buffer;
  readonly object?: Buffer;
}

export function insertJson(text: string, { string, object = string }: InsertedJson): Buffer {
  const parts = text.split(PLACES).map((part) => {
    if (part === `"${PLACE}"`) return string;
    return part === `{"${PLACE}":true}` ? object : Buffer.from(part);
  });
  return Buffer.concat(parts);
}

const PART_BYTES = 64 * 1024;

/**
 * Returns a text as a JSON string. Yields between parts.
 *
 * @param text UTF-8.
 */
export async function quotedJson(text: Buffer): Promise<Buffer> {
  const parts = [Buffer.from('"')];
  for (let from = 0; from < text.length; from += PART_BYTES) {
    await pauseIfDue();
    // JSON escapes only ASCII, so a part may end within a character, and the faster encoding for single bytes suffices.
    const part = text.toString('latin1', from, from + PART_BYTES);
    parts.push(Buffer.from(JSON.stringify(part).slice(1, -1), 'latin1'));
  }
  return Buffer.concat([...parts, Buffer.from('"')]);
}
