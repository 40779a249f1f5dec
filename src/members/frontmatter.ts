import { parseYamlValue } from '../config/yaml.js';
import { isObject } from '../json/json-values.js';
import { ConfigurationError } from '../validation/value-checks.js';

/** The frontmatter of a skill, command or agent as clients read it. */
export interface Frontmatter {
  readonly name?: string;
  readonly description?: string;
  /** The text, if it has keys that may start something; otherwise empty. */
  readonly starts: string;
  /** False if it may have keys that were not detected. */
  readonly isCertain: boolean;
}

const FRONTMATTER = /^\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|$)/s;
const BEGINNING = /^\ufeff?---[ \t]*\r?\n/;
/** Longer frontmatter is not parsed: 4 KiB can take 25 ms. */
const MAX_PARSED = 4 * 1024;
/** Matches the keys that start something, however they are quoted, and escapes, which could hide such a key. */
const STARTS = /(?:hooks|mcp_?servers)["']?\s*[:#]|\\(?:[xuU]|\r?\n)/i;

/**
 * Reads a frontmatter. Clients accept frontmatter that is not valid YAML, which is common, so only frontmatter with
 * keys that start something has to be valid.
 *
 * @param text the beginning of the file.
 * @param isCut whether the file continues after it.
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

/** Whether a YAML text may have keys that differ from its plain text: `? key`, aliases, and merged maps. */
export function hidesKeys(yaml: string): boolean {
  return (
    /^[ \t]*(?:-[ \t]+)*\?\s|[{,]\s*\?\s|<<["']?\s*[:#]/m.test(yaml) ||
    // Ordinary text sometimes contains one, as in `**` and `&amp;`.
    (/(?:^|[\s,[{?])&\S/.test(yaml) && /(?:^|[\s,[{?])\*\S/.test(yaml))
  );
}

/** Returns the map in a YAML text; null if it is another value, invalid or too long. */
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

/** Returns the text of a key without nested keys: the rest of its line and the indented lines below it. */
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
