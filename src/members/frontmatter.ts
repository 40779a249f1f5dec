import { parseYamlValue } from '../config/yaml.js';
import { isObject } from '../json/json-values.js';
import { ConfigurationError } from '../validation/value-checks.js';

/** What a client reads from the frontmatter of a skill, command or agent. */
export interface Frontmatter {
  readonly name?: string;
  readonly description?: string;
  /** The text, if its keys may start something; empty if not. */
  readonly starts: string;
  /** False if it may have keys that are not found. */
  readonly isCertain: boolean;
}

const FRONTMATTER = /^\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|$)/s;
const BEGINNING = /^\ufeff?---[ \t]*\r?\n/;
/** More is not parsed: 4 KiB can take 25 ms. */
const MAX_PARSED = 4 * 1024;
/** The keys that start something, however they are quoted; and escapes, in which a key could hide. */
const STARTS = /(?:hooks|mcp_?servers)["']?\s*[:#]|\\(?:[xuU]|\r?\n)/i;

/**
 * Reads a frontmatter. Many are no valid YAML, which clients accept: only those with keys that start something need be valid.
 *
 * @param text the beginning of the file.
 * @param isCut whether the file goes on behind it.
 */
export function frontmatterOf(text: string, isCut: boolean): Frontmatter {
  const [whole, found] = FRONTMATTER.exec(text) ?? [];
  const block = found ?? (BEGINNING.test(text) ? text : '');
  const name = lineOf(block, 'name');
  const description = lineOf(block, 'description');
  return {
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    starts: STARTS.test(block) ? block : '',
    isCertain: !hidesKeys(block) && !(isCut && BEGINNING.test(text) && (whole ?? text) === text),
  };
}

/** Whether keys of a YAML text may not stand there as they are read: `? key`, aliases, and what is merged into a map. */
export function hidesKeys(yaml: string): boolean {
  return (
    /^[ \t]*(?:-[ \t]+)*\?\s|[{,]\s*\?\s|<<["']?\s*[:#]/m.test(yaml) ||
    // Text has one of them at times, as in `**` and `&amp;`.
    (/(?:^|[\s,[{?])&\S/.test(yaml) && /(?:^|[\s,[{?])\*\S/.test(yaml))
  );
}

/** Returns the map that a YAML text holds; null if it is another value, invalid or too long. */
export function keysOf(text: string): Readonly<Record<string, unknown>> | null {
  if (text.length > MAX_PARSED) return null;
  try {
    const { tree } = parseYamlValue(text, '');
    return isObject(tree) ? tree : null;
  } catch (error) {
    if (error instanceof ConfigurationError) return null;
    throw error;
  }
}

/** Returns the text of a key without nested keys: on its line, and on the indented lines below it. */
function lineOf(block: string, key: 'name' | 'description'): string | undefined {
  const [, text] =
    new RegExp(String.raw`^${key}:[ \t]*(.*(?:\r?\n[ \t]+\S.*|\r?\n(?=[ \t]*\r?\n))*)`, 'm').exec(block) ??
    [];
  if (text === undefined) return undefined;
  const words = text
    .replace(/^[|>][+-]?\d*[ \t]*(?=\r?\n)/, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  const [, quote, inner] = /^(["'])(.*)\1$/.exec(words) ?? [];
  if (inner === undefined) return words;
  return quote === '"' ? inner.replaceAll(/\\(["\\])/g, '$1') : inner.replaceAll("''", "'");
}
