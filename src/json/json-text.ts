import { JsonSliceError, type JsonSlicer, RepeatedKeyError } from './json-slices.js';
import { pathOf } from './json-values.js';

/** An open bracket. */
interface Level {
  /** The unescaped keys of an object so far; null in an array, and in an object that is not checked. */
  readonly keys: Set<string> | null;
  expectsKey: boolean;
  /** The current key or index. */
  segment: string | number;
}

/**
 * Returns the path of the first repeated key of an object, in any spelling, or null. Repeated keys are legal (RFC 8259
 * §4), but parsers differ in which value they use.
 *
 * @param text must be valid JSON.
 * @param maxLevels the number of levels of arrays and objects to check.
 */
export function repeatedKey(text: string, maxLevels = Infinity): string | null {
  const levels: Level[] = [];
  for (let position = 0; position < text.length; position += 1) {
    const level = levels.at(-1);
    switch (text.charAt(position)) {
      case '"': {
        const start = position;
        position = endOfString(text, start);
        if (!level?.keys || !level.expectsKey) break;
        const key = unescaped(text.slice(start, position + 1));
        level.segment = key;
        level.expectsKey = false;
        if (level.keys.has(key)) return pathOf(levels.map(({ segment }) => segment));
        level.keys.add(key);
        break;
      }
      case '{':
        levels.push({ keys: levels.length < maxLevels ? new Set() : null, expectsKey: true, segment: '' });
        break;
      case '[':
        levels.push({ keys: null, expectsKey: false, segment: 0 });
        break;
      case '}':
      case ']':
        levels.pop();
        break;
      case ',':
        if (level && typeof level.segment === 'number') level.segment += 1;
        else if (level) level.expectsKey = true;
        break;
    }
  }
  return null;
}

// Matches whole numbers, so that a long one is read only once. Matching whole strings, whose digits do not count, would
// exhaust the stack of the regular expression.
const QUOTE_OR_NUMBER = /"|[-\d][\d.eE+-]*/g;
const LONG_INTEGER = /^-?\d{16,}$/;

/** Returns the first integer of a valid JSON text that parsing rounds; undefined if there is none. */
export function roundedInteger(text: string): string | undefined {
  let end = 0;
  for (const { 0: token, index } of text.matchAll(QUOTE_OR_NUMBER)) {
    if (index < end) continue;
    if (token === '"') end = endOfString(text, index) + 1;
    else if (LONG_INTEGER.test(token) && !isExact(token)) return token;
  }
  return undefined;
}

// Numbers beyond the range of a double are parsed as Infinity.
function isExact(digits: string): boolean {
  const parsed = Number(digits);
  return Number.isFinite(parsed) && BigInt(digits) === BigInt(parsed);
}

/** Counts the keys of all objects in a parsed value, where repeated keys of the text count once. */
export function countKeys(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + countKeys(item), 0);
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, item) => sum + countKeys(item), Object.keys(value).length);
}

const BYTES_PER_VALUE = 64;

/**
 * Estimates how much more memory a parsed value takes than its JSON text, which may be a hundred times smaller:
 * `[{},{},{}]`. Iterative, because a value may be deep.
 */
export function heapOverhead(value: unknown): number {
  let count = 0;
  const left = [value];
  while (left.length > 0) {
    const one = left.pop();
    count += 1;
    if (typeof one === 'object' && one !== null) for (const member of Object.values(one)) left.push(member);
  }
  return count * BYTES_PER_VALUE;
}

function unescaped(quoted: string): string {
  return quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
}

function endOfString(text: string, opening: number): number {
  let position = text.indexOf('"', opening + 1);
  while (isEscaped(text, position)) position = text.indexOf('"', position + 1);
  return position;
}

// A quote is escaped after an odd number of backslashes.
function isEscaped(text: string, quote: number): boolean {
  let position = quote - 1;
  while (text[position] === '\\') position -= 1;
  return (quote - 1 - position) % 2 === 1;
}

/**
 * Parses a piece of JSON text.
 *
 * @throws JsonSliceError without the parser's message, which would quote the text: the configured file may contain a
 *   secret instead of a catalog.
 */
export function parseText(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new JsonSliceError(`${where} is malformed`);
  }
}

/**
 * Parses the skeleton of a text that has been sliced completely.
 *
 * @throws JsonSliceError when the skeleton is malformed.
 * @throws RepeatedKeyError when an object repeats a key.
 */
export function parseSkeleton({ skeleton, skeletonKeys }: JsonSlicer): unknown {
  const value = parseText(skeleton, 'the text around the entries');
  if (countKeys(value) !== skeletonKeys) throw new RepeatedKeyError(repeatedKey(skeleton) ?? '');
  return value;
}

/**
 * Returns the original text of a member of an object, or null.
 *
 * @param text must be valid JSON without white space between tokens and without repeated keys.
 */
export function memberText(text: string, name: string): string | null {
  const span = memberSpan(text, name);
  return span && text.slice(span.start, span.end);
}

/** Replaces the value of an existing member and keeps the rest of the text. `text` must be as for `memberText`. */
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
        position = endOfString(text, opening);
        // This string is a key if it is in an object, or a value that the next comma discards if it is in an array.
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

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = new Set([0x5b, 0x7b]);
const CLOSE = new Set([0x5d, 0x7d]);

/**
 * Returns whether arrays and objects are nested deeper than `levels`. Call before parsing: the parser takes seconds for
 * a long run of brackets. The text need not be valid.
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

/**
 * Parses JSON; undefined if it is invalid, or nested deeper than `levels`. There is no error, because the parser's would
 * quote the text.
 */
export function parseShallow(text: string | Uint8Array, levels: number): unknown {
  if (isDeeperThan(typeof text === 'string' ? Buffer.from(text) : text, levels)) return undefined;
  try {
    return JSON.parse(typeof text === 'string' ? text : new TextDecoder().decode(text));
  } catch {
    return undefined;
  }
}
