import { createHash } from 'node:crypto';
import type { NamedTemplate } from './connections.js';
import { Inexpressible, type Input, type Template } from './template.js';

/** What means something to `cmd.exe` or to a POSIX shell, but for what only names files. */
export const SHELL_SYNTAX = /["'`$&|;<>^%!()\\\n\r\t]/;

/**
 * Commands that are batch files on Windows. They run by `cmd.exe`, and clients quote their arguments for white space alone.
 */
export function isBatchFileOnWindows(command: string): boolean {
  return command === 'npx' || command === 'dnx';
}

/** What a client does with the texts of a configuration, beside taking them as they are. */
export interface TextRules {
  /** What it takes for a reference to a variable. */
  readonly reference: RegExp;
  /** May it run this command by a shell? */
  readonly usesShell: (command: string) => boolean;
  /** How a configuration refers to an input. */
  readonly refer: (input: NamedInput) => string;
}

/** An input with the names by which a configuration refers to it. */
export interface NamedInput extends Input {
  readonly server: string;
  /** Unique among all inputs of all servers, for clients that ask the user: no server is given what was said to another. */
  readonly id: string;
  /**
   * The same for clients that read environment variables. None of a document's choosing: the variables that a user has already,
   * such as `AWS_SECRET_ACCESS_KEY`, are not there for whoever names them.
   */
  readonly variable: string;
}

/** Writes the templates of one server for one client. */
export class ServerWriter {
  private readonly named = new Map<string, NamedInput>();
  private readonly ids = new Set<string>();
  /** How many inputs have been given an id that begins so. */
  private readonly counts = new Map<string, number>();

  /** @param server its name. */
  constructor(
    private readonly server: string,
    private readonly rules: TextRules,
  ) {}

  /** The inputs that were referred to. */
  get inputs(): readonly NamedInput[] {
    return [...this.named.values()];
  }

  /** @throws Inexpressible for text that the client would not take as it is. */
  text(template: Template): string {
    return template
      .map((part, position) => {
        if (typeof part !== 'string') return this.rules.refer(this.name(part));
        const leadsToReference = part.endsWith('$') && position < template.length - 1;
        if (leadsToReference || this.rules.reference.test(part))
          throw new Inexpressible('variable_reference');
        return part;
      })
      .join('');
  }

  /** @throws Inexpressible as `text`, and for what a shell would take otherwise. */
  args(command: string, templates: readonly Template[]): string[] {
    return templates.map((template) => {
      const holdsSyntax = template.some((part) => typeof part === 'string' && SHELL_SYNTAX.test(part));
      const text = this.text(template);
      if (holdsSyntax && this.rules.usesShell(command)) throw new Inexpressible('shell_syntax');
      return text;
    });
  }

  /** The member of an entry that holds these, if there are any. */
  members<Key extends string>(
    key: Key,
    named: readonly NamedTemplate[],
  ): { [key in Key]?: Record<string, string> } {
    if (named.length === 0) return {};
    const members = Object.fromEntries(named.map(({ name, value }) => [name, this.text(value)]));
    return { [key]: members } as { [key in Key]: Record<string, string> };
  }

  private name(input: Input): NamedInput {
    const key = JSON.stringify(input);
    const known = this.named.get(key);
    if (known) return known;
    const base = `${this.server}/${wordOf(input.name, 60)}`;
    let count = (this.counts.get(base) ?? 0) + 1;
    let id = count === 1 ? base : `${base}_${count}`;
    while (this.ids.has(id)) id = `${base}_${(count += 1)}`;
    this.counts.set(base, count);
    this.ids.add(id);
    const named = { ...input, server: this.server, id, variable: variableOf(this.server, id) };
    this.named.set(key, named);
    return named;
  }
}

// The name of a server has one slash, so what is behind the second one is the input's.
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
