/** Where each member of a JSON text begins, by its path as the API names it: `packages[0].transport.url` → 12. */
export type Lines = ReadonlyMap<string, number>;

export type Parsed =
  { readonly value: unknown; readonly lines: Lines } | { readonly line: number; readonly message: string };

/** A JSON text with the line of each member; or where it stops being JSON, and what was expected there. */
export function parseJson(text: string): Parsed {
  const reader = new Reader(text);
  try {
    const value = reader.whole();
    return { value, lines: reader.lines };
  } catch (thrown) {
    return { line: reader.line(), message: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

/** The line of a path, or of the nearest member above it that is there. */
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

const DEEPEST = 200;
const SPACE = /[ \t\r\n]*/y;
const WORD = /"(?:[^"\\\r\n]|\\.)*"/y;
const PLAIN = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

class Reader {
  readonly lines = new Map<string, number>();
  private at = 0;

  /** Where each line but the first begins. */
  private readonly starts: number[] = [];

  constructor(private readonly text: string) {
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) this.starts.push(at + 1);
  }

  whole(): unknown {
    const value = this.value('', 0);
    this.take(SPACE);
    if (this.at < this.text.length) throw new Error('Nothing may follow the document');
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
    if (depth > DEEPEST) throw new Error('The document is nested too deeply');
    this.take(SPACE);
    if (path !== '' && !this.lines.has(path)) this.lines.set(path, this.line());
    const character = this.text[this.at];
    if (character === '{') return this.object(path, depth);
    if (character === '[') return this.list(path, depth);
    if (character === '"') return this.word();
    const found = this.take(PLAIN);
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
      const name = this.word();
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

  private word(): string {
    const found = this.take(WORD);
    try {
      return JSON.parse(found) as string;
    } catch {
      throw new Error('The text in quotes does not end on its line, or holds what JSON does not know');
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
      ? `The document ends where ${what} is expected`
      : `${what.charAt(0).toUpperCase()}${what.slice(1)} is expected, not ${JSON.stringify(found)}`;
  }
}
