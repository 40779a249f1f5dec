import { createHash } from 'node:crypto';
import { ApiError } from '../errors.js';

const CHECKSUM_BYTES = 6;
const MAX_CURSOR_LENGTH = 8_192;

/**
 * Turns the state of a walk into an opaque cursor, `^[A-Za-z0-9_-]+$`. Nothing in it is secret or trusted: it says where
 * to go on, never what may be seen. The checksum only detects a cursor that was mangled.
 *
 * @param list which list the cursor belongs to, so that one list's cursor is not taken for another's.
 */
export function encodeCursor(list: string, state: unknown): string {
  const payload = Buffer.from(JSON.stringify([list, state]));
  return Buffer.concat([checksum(payload), payload]).toString('base64url');
}

/**
 * The state behind a cursor of this list.
 *
 * @param isState decides whether the decoded value has the shape this list writes.
 * @throws ApiError `invalid_cursor` for anything `encodeCursor` did not make.
 */
export function decodeCursor<T>(list: string, cursor: string, isState: (value: unknown) => value is T): T {
  if (cursor.length > MAX_CURSOR_LENGTH || !/^[A-Za-z0-9_-]+$/.test(cursor))
    throw new ApiError('invalid_cursor');
  const bytes = Buffer.from(cursor, 'base64url');
  const payload = bytes.subarray(CHECKSUM_BYTES);
  // Encoding again catches the unused bits of the last character, which decoding ignores.
  if (bytes.toString('base64url') !== cursor || !checksum(payload).equals(bytes.subarray(0, CHECKSUM_BYTES)))
    throw new ApiError('invalid_cursor');
  const value = parse(payload.toString());
  if (!Array.isArray(value) || value.length !== 2 || value[0] !== list) throw new ApiError('invalid_cursor');
  const state: unknown = value[1];
  if (!isState(state)) throw new ApiError('invalid_cursor');
  return state;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError('invalid_cursor');
  }
}

function checksum(payload: Buffer): Buffer {
  return createHash('sha256').update(payload).digest().subarray(0, CHECKSUM_BYTES);
}
