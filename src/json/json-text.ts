import { JsonSliceError, type JsonSlicer, RepeatedKeyError } from './json-slices.js';
import { pathOf } from './json-values.js';
import { TimeSlice } from './time-slice.js';

/** An open bracket. */
interface Level {
  /** The keys so far of an object, unescaped; null in an array. */
  readonly keys: Set<string> | null;
  expectsKey: boolean;
  /** The key or index that is being read. */
  segment: string | number;
}

/**
 * The path of the first key that one object of a JSON text holds twice, in whatever spelling. Such a text is legal (RFC
 * 8259 §4), but readers differ in which of the values they take. The text must be one that JSON.parse accepts.
 */
export function repeatedKey(text: string): string | null {
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
        levels.push({ keys: new Set(), expectsKey: true, segment: '' });
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

/** How many keys all objects of a parsed value have: fewer than in its text when that has one of them twice. */
export function countKeys(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + countKeys(item), 0);
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, item) => sum + countKeys(item), Object.keys(value).length);
}

function unescaped(quoted: string): string {
  return quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
}

function endOfString(text: string, opening: number): number {
  let position = text.indexOf('"', opening + 1);
  while (isEscaped(text, position)) position = text.indexOf('"', position + 1);
  return position;
}

// Behind an odd number of backslashes; those of a text are looked at once each, but for the few before a quote.
function isEscaped(text: string, quote: number): boolean {
  let position = quote - 1;
  while (text[position] === '\\') position -= 1;
  return (quote - 1 - position) % 2 === 1;
}

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

/**
 * What `JSON.stringify(value, null, 2)` gives for an object whose members hold thousands of others, which come one after the other:
 * all at once would hold up everybody else.
 */
export async function indentedJson(value: object): Promise<string> {
  const slice = new TimeSlice();
  const members: string[] = [];
  for (const [key, member] of Object.entries(value) as [string, unknown][]) {
    if (typeof member !== 'object' || member === null) {
      if (member !== undefined) members.push(`${JSON.stringify(key)}: ${JSON.stringify(member)}`);
      continue;
    }
    const items: string[] = [];
    for (const [name, item] of Object.entries(member) as [string, unknown][]) {
      await slice.pause();
      const text = JSON.stringify(item, null, 2)?.replaceAll('\n', '\n    ');
      if (Array.isArray(member)) items.push(text ?? 'null');
      else if (text !== undefined) items.push(`${JSON.stringify(name)}: ${text}`);
    }
    const [open, close] = Array.isArray(member) ? '[]' : '{}';
    const inside = items.length === 0 ? '' : `\n    ${items.join(',\n    ')}\n  `;
    members.push(`${JSON.stringify(key)}: ${open}${inside}${close}`);
  }
  return members.length === 0 ? '{}' : `{\n  ${members.join(',\n  ')}\n}`;
}

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
