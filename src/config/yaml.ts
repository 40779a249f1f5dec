import { readFileSync, statSync } from 'node:fs';
import {
  type Alias,
  CST,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type Tags,
  YAMLError,
} from 'yaml';
import { ConfigurationError, type Path, type Problem } from '../validation/value-checks.js';

const MAX_BRACKETS = 64;
const MAX_INDICATORS = 64;
const MAX_INDENT = 256;
/** The marker that the lexer puts before a scalar. */
const SCALAR = '\u001f';

/**
 * Whether YAML text is nested too deeply to parse. The parser is recursive, and a stack overflow inside a regular
 * expression ends the process instead of throwing (V8: "RegExpCompiler Allocation failed"). The limit applies to
 * brackets, `- - -` on one line, and indentation.
 */
function isTooDeep(text: string): boolean {
  let brackets = 0;
  let indicators = 0;
  let lineBegins = true;
  let isScalar = false;
  for (const lexeme of new Lexer().lex(text)) {
    const type = isScalar ? 'scalar' : CST.tokenType(lexeme);
    isScalar = lexeme === SCALAR && !isScalar;
    if (type === 'flow-map-start' || type === 'flow-seq-start') brackets++;
    if ((type === 'flow-map-end' || type === 'flow-seq-end') && brackets > 0) brackets--;
    if (type === 'seq-item-ind' || type === 'explicit-key-ind') indicators++;
    if (type === 'newline') indicators = 0;
    if (brackets > MAX_BRACKETS || indicators > MAX_INDICATORS) return true;
    if (lineBegins && type === 'space' && lexeme.length > MAX_INDENT) return true;
    lineBegins = type === 'newline';
  }
  return false;
}

/** A file as plain data. */
export interface YamlTree {
  readonly tree: unknown;
  /** Returns the line of the value at a path, or of its key; undefined if there is none. */
  readonly lineOf: (path: Path) => number | undefined;
}

const MAX_DEPTH = 64;
/** Aliases may expand to this many values in a small file; in a larger one, to as many as it has characters. */
const MIN_VALUES_BY_ALIAS = 10_000;

/** Reads a YAML document whose top level must be a map. */
export function parseYaml(text: string, name: string): YamlTree {
  const parsed = parseYamlValue(text, name);
  if (typeof parsed.tree === 'object' && !Array.isArray(parsed.tree)) return parsed;
  const message = 'must contain a map of sections such as auth and sources';
  throw new ConfigurationError([problemAt(name, new LineCounter(), message, undefined)]);
}

/**
 * Reads one YAML 1.2 document. Refuses multiple documents, duplicate keys, unknown tags, keys that are not scalars,
 * recursive aliases and exponential alias expansion ("billion laughs").
 *
 * @param name File name for problem messages.
 * @param options.numbers `as text` keeps numbers as written: the version 1.10 is not 1.1.
 * @throws ConfigurationError with every syntax error and its line and column.
 */
export function parseYamlValue(
  text: string,
  name: string,
  { numbers = 'parsed' }: { numbers?: 'parsed' | 'as text' } = {},
): YamlTree {
  const counter = new LineCounter();
  const refuse = (message: string, offset?: number) =>
    new ConfigurationError([problemAt(name, counter, message, offset)]);
  if (isTooDeep(text)) throw refuse('is nested too deeply');
  try {
    // The option prettyErrors would quote lines of the file, which may contain secrets.
    const document = parseDocument(text, {
      version: '1.2',
      schema: 'core',
      ...(numbers === 'as text' ? { customTags: withoutNumbers } : {}),
      lineCounter: counter,
      prettyErrors: false,
    });
    const errors = [...document.errors, ...document.warnings];
    if (errors.length > 0)
      throw new ConfigurationError(
        errors.map((error) => problemAt(name, counter, sentence(error), error.pos[0])),
      );
    const reader = new TreeReader(Math.max(MIN_VALUES_BY_ALIAS, text.length));
    const tree = document.contents === null ? null : reader.read(document.contents, 0);
    if (tree === null) throw refuse('is empty');
    return { tree, lineOf: (path) => lineOf(path, document.contents, reader.targets, counter) };
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    if (error instanceof Refusal) throw refuse(error.message, error.offset);
    throw error;
  }
}

function withoutNumbers(tags: Tags): Tags {
  return tags.filter((tag) => typeof tag === 'string' || !/:(?:int|float)$/.test(tag.tag));
}

class Refusal extends Error {
  constructor(
    message: string,
    readonly offset: number | undefined,
  ) {
    super(message);
  }
}

// Replaces the library's conversion, which turns every key into a string.
class TreeReader {
  /** The node that each alias refers to. */
  readonly targets = new Map<Alias, Node>();
  private readonly anchors = new Map<string, Node>();
  private aliases = 0;
  private valuesByAlias = 0;

  constructor(private readonly maxValuesByAlias: number) {}

  read(node: unknown, depth: number): unknown {
    if (depth > MAX_DEPTH) throw new Refusal('is nested too deeply', offsetOf(node));
    if (this.aliases > 0 && ++this.valuesByAlias > this.maxValuesByAlias)
      throw new Refusal(
        `contains aliases that expand to more than ${this.maxValuesByAlias} values, the limit for a file of this size: ` +
          'write out some of the lists that they repeat',
        offsetOf(node),
      );
    if (isAlias(node)) return this.readAlias(node, depth);
    if (isNode(node) && node.anchor !== undefined) this.anchors.set(node.anchor, node);
    if (isScalar(node)) {
      // Tags such as !!binary and !!timestamp turn a scalar into an object.
      if (typeof node.value === 'object' && node.value !== null)
        throw new Refusal('contains a value with a tag', offsetOf(node));
      return node.value;
    }
    if (isSeq(node)) return node.items.map((item) => this.read(item, depth + 1));
    // fromEntries keeps a key __proto__ as an ordinary member; assignment would not.
    if (isMap(node)) return Object.fromEntries(node.items.map((pair) => this.member(pair, depth)));
    return null;
  }

  private readAlias(alias: Alias, depth: number): unknown {
    const node = this.anchors.get(alias.source);
    if (!node) throw new Refusal('contains an alias without an anchor before it', offsetOf(alias));
    this.targets.set(alias, node);
    this.aliases++;
    const value = this.read(node, depth);
    this.aliases--;
    return value;
  }

  private member({ key, value }: Pair, depth: number): [string, unknown] {
    if (!isScalar(key) || typeof key.value === 'object')
      throw new Refusal('contains a key that is not a scalar', offsetOf(key) ?? offsetOf(value));
    return [String(key.value), this.read(value, depth + 1)];
  }
}

/** The line of a key rather than of its value, which may start further down. */
function lineOf(
  path: Path,
  root: unknown,
  targets: ReadonlyMap<Alias, Node>,
  counter: LineCounter,
): number | undefined {
  let node = root;
  let offset = offsetOf(node);
  for (const step of path) {
    if (isAlias(node)) node = targets.get(node);
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === step);
      node = pair?.value;
      offset = offsetOf(pair?.key);
    } else {
      node = isSeq(node) && typeof step === 'number' ? node.items[step] : undefined;
      offset = offsetOf(node);
    }
  }
  return offset === undefined ? undefined : counter.linePos(offset).line;
}

function offsetOf(node: unknown): number | undefined {
  return typeof node === 'object' && node !== null
    ? (node as { range?: [number, number, number] | null }).range?.[0]
    : undefined;
}

function problemAt(path: string, counter: LineCounter, message: string, offset?: number): Problem {
  if (offset === undefined) return { path, message };
  const { line, col } = counter.linePos(offset);
  return { path, message: `${message}, column ${col}`, line };
}

function sentence(error: YAMLError): string {
  if (error.code === 'MULTIPLE_DOCS') return 'must contain one YAML document, not several';
  if (error.code === 'DUPLICATE_KEY') return 'has the same key twice in one map';
  if (error.code === 'BLOCK_AS_IMPLICIT_KEY')
    return 'is not valid YAML: a value that contains a colon followed by a space must be in quotes';
  // Text after one of these characters may quote the file.
  const cause = error.message.split(/[:"'`%\\]/, 1)[0]?.trim();
  return cause ? `is not valid YAML: ${cause}` : 'is not valid YAML';
}

export const MAX_YAML_BYTES = 4 * 1024 * 1024;

/**
 * Reads the configuration file.
 *
 * @throws ConfigurationError when the file is missing, a directory, unreadable, larger than 4 MiB or not UTF-8.
 */
export function readConfigText(file: string): string {
  const bytes = readBytes(file);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw refusal(file, 'is not a text file in UTF-8');
  }
}

function readBytes(file: string): Buffer {
  try {
    const stats = statSync(file);
    if (stats.isDirectory()) throw refusal(file, 'is a directory, not a file');
    if (!stats.isFile()) throw refusal(file, 'is not a regular file');
    if (stats.size > MAX_YAML_BYTES) throw refusal(file, 'is larger than 4 MiB');
    return readFileSync(file);
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    throw refusal(file, unreadable(error));
  }
}

/** Describes why a file could not be read. */
export function unreadable(error: unknown): string {
  const { code } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'does not exist';
  if (code === 'EACCES' || code === 'EPERM') return 'is not readable by this user';
  return `cannot be read${code === undefined ? '' : ` (${code})`}`;
}

/** Returns an error about the whole file. */
function refusal(path: string, message: string): ConfigurationError {
  return new ConfigurationError([{ path, message }]);
}
