const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = new Set([0x5b, 0x7b]);
const CLOSE = new Set([0x5d, 0x7d]);

/**
 * Whether arrays and objects of a JSON text are nested deeper than this. Asked before parsing, since the parser takes seconds
 * for a text of nothing but brackets. The text need not be valid.
 *
 * @param bytes UTF-8.
 */
export function isDeeperThan(bytes: Uint8Array, levels: number): boolean {
  let depth = 0;
  let isString = false;
  for (let position = 0; position < bytes.length; position += 1) {
    const byte = bytes[position] as number;
    if (isString) {
      if (byte === BACKSLASH) position += 1;
      else if (byte === QUOTE) isString = false;
    } else if (byte === QUOTE) isString = true;
    else if (OPEN.has(byte)) {
      depth += 1;
      if (depth > levels) return true;
    } else if (CLOSE.has(byte)) depth -= 1;
  }
  return false;
}
