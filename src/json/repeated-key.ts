import { pathOf } from './json-path.js';

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
        position = closingQuote(text, start);
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

function closingQuote(text: string, opening: number): number {
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
