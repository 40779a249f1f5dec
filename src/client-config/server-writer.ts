import { createHash } from 'node:crypto';
import type { NamedTemplate } from './connections.js';
import { Inexpressible, type Input, type Template } from './template.js';

/** Characters with a special meaning in `cmd.exe` or a POSIX shell, except for file name patterns. */
const SHELL_SYNTAX = /["'`$&|;<>^%!()\\\n\r\t]/;

/**
 * Returns whether a command is a batch file on Windows. `cmd.exe` runs batch files, and clients quote their arguments
 * only to protect white space.
 */
export function isBatchFileOnWindows(command: string): boolean {
  return command === 'npx' || command === 'dnx';
}

export interface TextRules {
  /** Matches text that the client would expand as a variable. */
  readonly reference: RegExp;
  /** Whether the client may run this command in a shell. */
  readonly usesShell: (command: string) => boolean;
  /** Returns the reference to an input. */
  readonly refer: (input: NamedInput) => string;
}

/** An input, with the names that a configuration uses to refer to it. */
export interface NamedInput extends Input {
  readonly server: string;
  /** Unique across servers, so that a client that prompts the user never gives one server's input to another. */
  readonly id: string;
  /**
   * The environment variable, for clients that read inputs from the environment. Its name is generated, so that a
   * document cannot read the user's existing variables, such as `AWS_SECRET_ACCESS_KEY`.
   */
  readonly variable: string;
}

/** Writes the templates of one server for one client. */
export class ServerWriter {
  private readonly known = new Map<string, NamedInput>();
  private readonly ids = new Set<string>();
  /** The number of inputs per id prefix. */
  private readonly counts = new Map<string, number>();

  /** @param server the name of the server. */
  constructor(
    readonly server: string,
    private readonly rules: TextRules,
  ) {}

  /** The inputs referenced so far. */
  get inputs(): readonly NamedInput[] {
    return [...this.known.values()];
  }

  /** @throws Inexpressible for text that the client would expand. */
  text(template: Template): string {
    return template
      .map((part, position) => {
        if (typeof part !== 'string') return this.rules.refer(this.named(part));
        const leadsToReference = part.endsWith('$') && position < template.length - 1;
        if (leadsToReference || this.rules.reference.test(part))
          throw new Inexpressible('variable_reference');
        return part;
      })
      .join('');
  }

  /** @throws Inexpressible for text that the client would expand, and for shell syntax. */
  args(command: string, templates: readonly Template[]): string[] {
    return templates.map((template) => {
      const holdsSyntax = template.some((part) => typeof part === 'string' && SHELL_SYNTAX.test(part));
      const text = this.text(template);
      if (holdsSyntax && this.rules.usesShell(command)) throw new Inexpressible('shell_syntax');
      return text;
    });
  }

  /** Returns an object with these values in its member `key`, or an empty object if there are no values. */
  members<Key extends string>(
    key: Key,
    named: readonly NamedTemplate[],
  ): { [key in Key]?: Record<string, string> } {
    if (named.length === 0) return {};
    const members = Object.fromEntries(named.map(({ name, value }) => [name, this.text(value)]));
    return { [key]: members } as { [key in Key]: Record<string, string> };
  }

  named(input: Input): NamedInput {
    const key = JSON.stringify(input);
    const known = this.known.get(key);
    if (known) return known;
    const base = `${this.server}/${wordOf(input.name, 60)}`;
    let count = (this.counts.get(base) ?? 0) + 1;
    let id = count === 1 ? base : `${base}_${count}`;
    while (this.ids.has(id)) id = `${base}_${(count += 1)}`;
    this.counts.set(base, count);
    this.ids.add(id);
    const named = { ...input, server: this.server, id, variable: variableOf(this.server, id) };
    this.known.set(key, named);
    return named;
  }
}

/** Maximum length of a key from `shortKey`. */
const MAX_KEY = 30;
const DIGEST_CHARACTERS = 13;

/**
 * Returns a short key for a server, of ASCII letters, digits, `-` and `_`. It depends only on the name; its digest of 64
 * bits keeps it unique.
 */
export function shortKey(server: string): string {
  const [, last = ''] = server.split('/');
  const digest = createHash('sha256').update(server).digest().readBigUInt64BE().toString(36);
  const label = last.replaceAll(/[^A-Za-z0-9]+/g, '-').slice(0, MAX_KEY - DIGEST_CHARACTERS - 1);
  return `${label.replaceAll(/^-|-$/g, '') || 'server'}-${digest.padStart(DIGEST_CHARACTERS, '0')}`;
}

/** Returns the server's name, or a short key if the name is too long for a client that limits tool names. */
export function limitedKey(server: string): string {
  return server.length <= MAX_KEY ? server : shortKey(server);
}

// Server names contain one slash, so the input's name follows the second slash.
function variableOf(server: string, id: string): string {
  const digest = createHash('sha256').update(server).digest('hex').slice(0, 16);
  const [, last = ''] = server.split('/');
  return `MCP_${wordOf(last, 30)}_${digest}_${id.slice(server.length + 1)}`.toUpperCase();
}

function wordOf(text: string, length: number): string {
  return (
    text
      .replaceAll(/[^A-Za-z0-9]+/g, '_')
      .replace(/^_+/, '')
      .slice(0, length) || 'VALUE'
  );
}
