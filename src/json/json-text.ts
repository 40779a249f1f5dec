import { countKeys, repeatedKey } from './repeated-key.js';
import { JsonSliceError, type JsonSlicer, RepeatedKeyError } from './json-slices.js';

/**
 * The value of a piece of JSON text.
 *
 * @throws JsonSliceError without the parser's own message: that quotes the text, and an administrator may have named a
 *   file that is no catalogue but holds a secret.
 */
export function parseText(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new JsonSliceError(`${where} is malformed`);
  }
}

/**
 * The value around the elements of a text that has been sliced to its end: its lists are empty.
 *
 * @throws JsonSliceError when that is malformed.
 * @throws RepeatedKeyError when one of its objects holds a key twice.
 */
export function parseSkeleton({ skeleton, skeletonKeys }: JsonSlicer): unknown {
  const value = parseText(skeleton, 'the text around the entries');
  if (countKeys(value) !== skeletonKeys) throw new RepeatedKeyError(repeatedKey(skeleton) ?? '');
  return value;
}

/**
 * The text of one member of an object, as it was written, or null when it has none of this name. The text must be one that
 * JSON.parse accepts, without white space between its tokens, and must hold no key twice.
 */
export function memberText(text: string, name: string): string | null {
  const span = memberSpan(text, name);
  return span && text.slice(span.start, span.end);
}

/** The text of the same object with another value for one member that it has; all else is as it was written. Rules as above. */
export function withMember(text: string, name: string, value: string): string {
  const span = memberSpan(text, name);
  return span ? text.slice(0, span.start) + value + text.slice(span.end) : text;
}

function memberSpan(text: string, name: string): { start: number; end: number } | null {
  let depth = 0;
  let key = '';
  let start = 0;
  for (let position = 0; position < text.length; position += 1) {
    switch (text.charCodeAt(position)) {
      case 0x22: {
        const opening = position;
        position = closingQuote(text, opening);
        // A string at this depth is a key, or a value, which the next comma discards.
        if (depth === 1 && start === 0) key = text.slice(opening, position + 1);
        break;
      }
      case 0x3a:
        if (depth === 1) start = position + 1;
        break;
      case 0x5b:
      case 0x7b:
        depth += 1;
        break;
      case 0x5d:
      case 0x7d:
      case 0x2c:
        if (text.charCodeAt(position) !== 0x2c) depth -= 1;
        if (depth > 1 || (depth === 1 && text.charCodeAt(position) !== 0x2c)) break;
        if (start > 0 && JSON.parse(key) === name) return { start, end: position };
        start = 0;
        break;
    }
  }
  return null;
}

function closingQuote(text: string, opening: number): number {
  let position = opening + 1;
  while (text.charCodeAt(position) !== 0x22) position += text.charCodeAt(position) === 0x5c ? 2 : 1;
  return position;
}
