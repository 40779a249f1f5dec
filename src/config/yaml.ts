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
  YAMLError,
} from 'yaml';
import { ConfigurationError, formatPath, type Path, type Problem } from '../validation/value-checks.js';

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

/** A file as plain data, with the line of each value, keyed by formatted path. */
export interface YamlTree {
  readonly tree: unknown;
  readonly lines: ReadonlyMap<string, number>;
}

const MAX_DEPTH = 64;
const MAX_NODES_BY_ALIAS = 10_000;

/** Reads a YAML document whose top level must be a map. */
export function parseYaml(text: string, name: string): YamlTree {
  const { tree, lines } = parseYamlValue(text, name);
  if (typeof tree === 'object' && !Array.isArray(tree)) return { tree, lines };
  const message = 'must contain a map of sections such as auth and sources';
  throw new ConfigurationError([problemAt(name, new LineCounter(), message, undefined)]);
}

/**
 * Reads one YAML 1.2 document. Refuses multiple documents, duplicate keys, unknown tags, keys that are not scalars,
 * recursive aliases and exponential alias expansion ("billion laughs").
 *
 * @param name File name for problem messages.
 * @throws ConfigurationError with every syntax error and its line and column.
 */
export function parseYamlValue(text: string, name: string): YamlTree {
  const counter = new LineCounter();
  const refuse = (message: string, offset?: number) =>
    new ConfigurationError([problemAt(name, counter, message, offset)]);
  if (isTooDeep(text)) throw refuse('is nested too deeply');
  try {
    // With prettyErrors, messages would quote lines of the file, which may contain secrets.
    const document = parseDocument(text, {
      version: '1.2',
      schema: 'core',
      lineCounter: counter,
      prettyErrors: false,
    });
    const errors = [...document.errors, ...document.warnings];
    if (errors.length > 0)
      throw new ConfigurationError(
        errors.map((error) => problemAt(name, counter, sentence(error), error.pos[0])),
      );
    const reader = new TreeReader(counter);
    const tree = document.contents === null ? null : reader.read(document.contents, []);
    if (tree === null) throw refuse('is empty');
    return { tree, lines: reader.lines };
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    if (error instanceof Refusal) throw refuse(error.message, error.offset);
    throw error;
  }
}

class Refusal extends Error {
  constructor(
    message: string,
    readonly offset: number | undefined,
  ) {
    super(message);
  }
}

// Replaces the library's conversion, which turns every key into a string and drops line numbers.
class TreeReader {
  readonly lines = new Map<string, number>();
  private readonly anchors = new Map<string, Node>();
  private aliases = 0;
  private nodesByAlias = 0;

  constructor(private readonly counter: LineCounter) {}

  read(node: unknown, path: Path): unknown {
    const offset = offsetOf(node);
    if (offset !== undefined && !this.lines.has(formatPath(path))) this.mark(path, offset);
    if (path.length > MAX_DEPTH) throw new Refusal('is nested too deeply', offset);
    if (this.aliases > 0 && ++this.nodesByAlias > MAX_NODES_BY_ALIAS)
      throw new Refusal('contains aliases that expand to too many values', offset);
    if (isAlias(node)) return this.readAlias(node, path);
    if (isNode(node) && node.anchor !== undefined) this.anchors.set(node.anchor, node);
    if (isScalar(node)) {
      // Tags such as !!binary and !!timestamp turn a scalar into an object.
      if (typeof node.value === 'object' && node.value !== null)
        throw new Refusal('contains a value with a tag', offset);
      return node.value;
    }
    if (isSeq(node)) return node.items.map((item, position) => this.read(item, [...path, position]));
    // fromEntries keeps a key __proto__ as an ordinary member; assignment would not.
    if (isMap(node)) return Object.fromEntries(node.items.map((pair) => this.member(pair, path)));
    return null;
  }

  private readAlias(alias: Alias, path: Path): unknown {
    const node = this.anchors.get(alias.source);
    if (!node) throw new Refusal('contains an alias without an anchor before it', offsetOf(alias));
    this.aliases++;
    const value = this.read(node, path);
    this.aliases--;
    return value;
  }

  private member({ key, value }: Pair, path: Path): [string, unknown] {
    const offset = offsetOf(key);
    if (!isScalar(key) || typeof key.value === 'object')
      throw new Refusal('contains a key that is not a scalar', offset ?? offsetOf(value));
    const step = String(key.value);
    const at = [...path, step];
    // Marks the line of the key, because its value may start further down.
    if (offset !== undefined) this.mark(at, offset);
    return [step, this.read(value, at)];
  }

  private mark(path: Path, offset: number): void {
    this.lines.set(formatPath(path), this.counter.linePos(offset).line);
  }
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

export const MAX_BYTES = 4 * 1024 * 1024;

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
    if (stats.size > MAX_BYTES) throw refusal(file, 'is larger than 4 MiB');
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
export function refusal(file: string, message: string, line?: number): ConfigurationError {
  const problem: Problem = { path: file, message, ...(line === undefined ? {} : { line }) };
  return new ConfigurationError([problem]);
}
