/** Line of each member by its path in API errors: `packages[0].transport.url` → 12. */
export type Lines = ReadonlyMap<string, number>;

export type Parsed =
  | { readonly value: unknown; readonly lines: Lines }
  | { readonly line: number; readonly message: string };

/** Parses JSON and records the line of each member, or returns the line and message of the first syntax error. */
export function parseJson(text: string): Parsed {
  const parser = new Parser(text);
  try {
    const value = parser.parse();
    return { value, lines: parser.lines };
  } catch (thrown) {
    return { line: parser.line(), message: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

/** The line of a path, or of its nearest ancestor in the document. */
export function lineOf(lines: Lines, path: string): number {
  let rest = path;
  for (;;) {
    const line = lines.get(rest);
    if (line !== undefined) return line;
    const cut = Math.max(rest.lastIndexOf('.'), rest.lastIndexOf('['));
    if (cut < 0) return 1;
    rest = rest.slice(0, cut);
  }
}

const MAX_DEPTH = 200;
const SPACE = /[ \t\r\n]*/y;
const STRING = /"(?:[^"\\\r\n]|\\.)*"/y;
const LITERAL = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

class Parser {
  readonly lines = new Map<string, number>();
  private at = 0;
  /** Start offsets of all lines except the first. */
  private readonly starts: number[] = [];

  constructor(private readonly text: string) {
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) this.starts.push(at + 1);
  }

  parse(): unknown {
    const value = this.value('', 0);
    this.take(SPACE);
    if (this.at < this.text.length) throw new Error('Unexpected text after the document');
    return value;
  }

  line(): number {
    let [low, high] = [0, this.starts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.starts[middle] ?? 0) <= this.at) low = middle + 1;
      else high = middle;
    }
    return low + 1;
  }

  private value(path: string, depth: number): unknown {
    if (depth > MAX_DEPTH) throw new Error('The document is nested too deeply');
    this.take(SPACE);
    if (path !== '' && !this.lines.has(path)) this.lines.set(path, this.line());
    const character = this.text[this.at];
    if (character === '{') return this.object(path, depth);
    if (character === '[') return this.list(path, depth);
    if (character === '"') return this.string();
    const found = this.take(LITERAL);
    if (found === '') throw new Error(this.expected('a value'));
    return JSON.parse(found) as unknown;
  }

  private object(path: string, depth: number): unknown {
    const members: [string, unknown][] = [];
    this.at += 1;
    this.take(SPACE);
    if (this.skip('}')) return {};
    do {
      this.take(SPACE);
      if (this.text[this.at] !== '"') throw new Error(this.expected('a name in quotes'));
      const line = this.line();
      const name = this.string();
      const below = path === '' ? name : `${path}.${name}`;
      if (!this.lines.has(below)) this.lines.set(below, line);
      this.take(SPACE);
      if (!this.skip(':')) throw new Error(this.expected('a colon'));
      members.push([name, this.value(below, depth + 1)]);
      this.take(SPACE);
    } while (this.skip(','));
    if (!this.skip('}')) throw new Error(this.expected('a comma or }'));
    return Object.fromEntries(members);
  }

  private list(path: string, depth: number): unknown {
    const items: unknown[] = [];
    this.at += 1;
    this.take(SPACE);
    if (this.skip(']')) return items;
    do {
      items.push(this.value(`${path}[${items.length}]`, depth + 1));
      this.take(SPACE);
    } while (this.skip(','));
    if (!this.skip(']')) throw new Error(this.expected('a comma or ]'));
    return items;
  }

  private string(): string {
    const found = this.take(STRING);
    try {
      return JSON.parse(found) as string;
    } catch {
      throw new Error('The string is not closed on its line or contains an invalid character or escape');
    }
  }

  private take(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const [found = ''] = pattern.exec(this.text) ?? [];
    this.at += found.length;
    return found;
  }

  private skip(character: string): boolean {
    if (this.text[this.at] !== character) return false;
    this.at += 1;
    return true;
  }

  private expected(what: string): string {
    const found = this.text[this.at];
    return found === undefined
      ? `Expected ${what}, but the document ends`
      : `Expected ${what}, not ${JSON.stringify(found)}`;
  }
}
