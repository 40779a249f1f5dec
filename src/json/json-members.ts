const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

const MAX_KEY_BYTES = 64;

/**
 * Lists the members of the outermost object of a JSON text, in order, with the first character of each value. Never
 * throws: text that is not valid JSON has some members or none. Longer keys are left out.
 */
export function* topLevelMembers(text: Buffer): Generator<[key: string, first: string]> {
  let depth = 0;
  let key: string | undefined;
  for (let position = 0; position < text.length; position += 1)
    switch (text[position]) {
      case QUOTE: {
        const start = position;
        position = endOfString(text, start);
        if (depth === 1) key = keyOf(text.subarray(start, position + 1));
        break;
      }
      case COLON: {
        if (depth !== 1 || key === undefined) break;
        const value = text.toString('latin1', position + 1, position + 1 + MAX_KEY_BYTES).trimStart();
        yield [key, value.charAt(0)];
        key = undefined;
        break;
      }
      case COMMA:
        key = undefined;
        break;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        depth += 1;
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth -= 1;
        break;
      default:
    }
}

/** Returns the position of the closing quote, or of the end of the text. */
function endOfString(text: Buffer, start: number): number {
  let position = start + 1;
  while (position < text.length && text[position] !== QUOTE) position += text[position] === BACKSLASH ? 2 : 1;
  return position;
}

// Keys are compared by their value: "s\u0065rvers" is another spelling of "servers".
function keyOf(bytes: Buffer): string | undefined {
  if (bytes.length > MAX_KEY_BYTES) return undefined;
  try {
    return String(JSON.parse(bytes.toString()));
  } catch {
    return undefined;
  }
}
