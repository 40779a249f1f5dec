import { isObject } from '../../json/json-values.js';

const MAX_DEPTH = 4;

/** Claims that are held, to find what only looks like what is asked for: each of many questions takes as long as for few claims. */
export class Spellings {
  private readonly keys: ReadonlyMap<string, readonly string[]>;
  /** By key. */
  private readonly values = new Map<string, ReadonlyMap<string, readonly string[]>>();
  private paths: ReadonlyMap<string, readonly string[]> | undefined;

  constructor(private readonly held: Readonly<Record<string, unknown>>) {
    this.keys = byLetters(Object.keys(held));
  }

  /** Another key of the same letters. */
  keyLike(key: string): string | undefined {
    return this.keys.get(lettersOf(key))?.find((other) => other !== key);
  }

  /** Another text of the same letters among the values of a key. */
  valueLike(key: string, value: string): string | undefined {
    if (!Object.hasOwn(this.held, key)) return undefined;
    const known = this.values.get(key) ?? byLetters([this.held[key]].flat());
    this.values.set(key, known);
    return known.get(lettersOf(value))?.find((other) => other !== value);
  }

  /** Where below the top level a key is held that is not there at the top. */
  pathTo(key: string): readonly string[] | undefined {
    if (Object.hasOwn(this.held, key)) return undefined;
    this.paths ??= pathsBelow(this.held);
    return this.paths.get(key);
  }
}

function byLetters(values: readonly unknown[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const value of new Set(values)) {
    if (typeof value !== 'string') continue;
    const letters = lettersOf(value);
    const alike = found.get(letters);
    if (alike) alike.push(value);
    else found.set(letters, [value]);
  }
  return found;
}

function lettersOf(text: string): string {
  return text.trim().toLowerCase();
}

/** The first place of each key below the top level, where an object is looked at before what is in it. */
function pathsBelow(held: Readonly<Record<string, unknown>>): Map<string, readonly string[]> {
  const paths = new Map<string, readonly string[]>();
  const visit = (value: Readonly<Record<string, unknown>>, path: readonly string[]) => {
    if (path.length === MAX_DEPTH) return;
    for (const [name, member] of Object.entries(value)) {
      if (!isObject(member)) continue;
      const here = [...path, name];
      for (const key of Object.keys(member)) if (!paths.has(key)) paths.set(key, [...here, key]);
      visit(member, here);
    }
  };
  visit(held, []);
  return paths;
}
