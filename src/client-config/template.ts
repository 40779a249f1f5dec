import { elements, member, textMember } from '../json/json-values.js';

/** Why a server has no entry in a client's configuration. Codes are stable; sentences may change. */
export const OMISSIONS = {
  no_connection: 'The document has neither a remote nor a package',
  unsupported_registry_type: 'None of the supported clients can run packages of this type',
  unsupported_transport: 'The package listens on a port: a client can connect to it but not start it',
  unsupported_runtime: 'The package is for a different runtime than the one used for packages of this type',
  custom_package_registry: 'The package is not in the default registry of its type',
  no_launcher: 'The plugin starts its own program, which lists cannot identify on every machine',
  invalid_package: 'The name or version of the package is not valid in its registry',
  invalid_url: 'The URL is not valid, or contains a user or password',
  invalid_header: 'A header name is invalid or duplicate, or a header value contains a line break',
  invalid_environment_variable: 'The name of an environment variable is invalid or duplicate',
  unsafe_runtime_argument:
    'A runtime argument could make the program that starts the package run something else',
  unsafe_environment_variable:
    'An environment variable could make the program that starts the package run something else',
  unsupported_remote: 'The remote uses HTTP+SSE, which the client does not support',
  unsupported_input: 'The client cannot insert user input where the document requires it',
  variable_reference:
    'A value contains text that the client would expand as a variable and that cannot be escaped',
  shell_syntax:
    'An argument contains a character with a special meaning in the shell that may run the command',
  chosen_by_user: 'The list entry would contain user input, for which the client has no pattern',
  still_listed: 'A listed server has the same connection, which a deny-list entry would block',
  denied: 'A deny-list has the same connection, and no listed server has it',
  uncertain: 'A file of the plugin contains something that cannot be read reliably',
  wildcard: 'The list entry would contain a character that the client treats as a wildcard',
  too_long: 'The document, or its connection after variables are expanded, is longer than 64 KiB',
} as const satisfies Record<string, string>;

export type OmissionReason = keyof typeof OMISSIONS;

/** A server without an entry, listed in `x-omitted`. */
export interface Omission {
  readonly name: string;
  readonly version: string;
  /** The server of a plugin. */
  readonly server?: string;
  readonly reason: OmissionReason;
}

/** Thrown when a document cannot be expressed in a client's configuration. */
export class Inexpressible extends Error {
  override readonly name = 'Inexpressible';

  constructor(readonly reason: OmissionReason) {
    super(OMISSIONS[reason]);
  }
}

/** Maximum length of one document after expansion. */
const MAX_CHARACTERS = 64 * 1_024;
/** The overhead counted for each text, in characters. */
const CHARACTERS_PER_TEXT = 16;

/**
 * Bounds the expansion of one document: many references to a long variable could expand one mebibyte to gigabytes.
 */
export class TextLimit {
  private taken = 0;

  /** @throws Inexpressible if the limit is exceeded. */
  take(characters: number): void {
    this.taken += CHARACTERS_PER_TEXT + characters;
    if (this.taken > MAX_CHARACTERS) throw new Inexpressible('too_long');
  }
}

/** A value entered by the user. */
export interface Input {
  /** The name in the document. */
  readonly name: string;
  readonly description: string;
  readonly isSecret: boolean;
  readonly isRequired: boolean;
  readonly default: string | undefined;
  readonly choices: readonly string[];
}

/** User inputs and text from the document. Adjacent texts are merged. */
export type Template = readonly (string | Input)[];

const VARIABLE = /\{([^{}]+)\}/g;

/**
 * Returns the value of an `Input` in a server document
 * (https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json): its `value` with `{name}` variables
 * expanded, else its `default` unless it is secret, else user input. Unknown variables stay unchanged.
 *
 * @param name the name shown to the user.
 * @throws Inexpressible if the limit is exceeded.
 */
export function templateOf(input: unknown, name: string, limit: TextLimit): Template {
  const value = textMember(input, 'value');
  if (value !== undefined) return fill(value, member(input, 'variables'), limit);
  return withoutVariables(input, name, limit);
}

/**
 * Returns the text with its `{variables}` expanded.
 *
 * @throws Inexpressible if the limit is exceeded.
 */
export function fill(text: string, variables: unknown, limit: TextLimit): Template {
  limit.take(text.length);
  const parts: (string | Input)[] = [];
  let end = 0;
  for (const match of text.matchAll(VARIABLE)) {
    const name = match[1] ?? '';
    const variable = member(variables, name);
    if (variable === undefined) continue;
    const value = textMember(variable, 'value');
    if (value !== undefined) limit.take(value.length);
    parts.push(
      text.slice(end, match.index),
      ...(value === undefined ? withoutVariables(variable, name, limit) : [value]),
    );
    end = match.index + match[0].length;
  }
  return joined([...parts, text.slice(end)]);
}

/** Returns whether the template contains user input. */
export function isOpen(template: Template): boolean {
  return template.some((part) => typeof part !== 'string');
}

export function textOf(template: Template): string {
  return template.filter((part) => typeof part === 'string').join('');
}

/** Returns the template as text, with this replacement for each input. */
export function withInputsAs(template: Template, replacement: string): string {
  return template.map((part) => (typeof part === 'string' ? part : replacement)).join('');
}

function withoutVariables(input: unknown, name: string, limit: TextLimit): Template {
  const isSecret = member(input, 'isSecret') === true;
  const preset = textMember(input, 'default');
  limit.take(preset?.length ?? 0);
  if (preset !== undefined && !isSecret) return [preset];
  const description = textMember(input, 'description') ?? '';
  limit.take(name.length + description.length);
  const choices = elements(member(input, 'choices')).filter((choice) => typeof choice === 'string');
  for (const choice of choices) limit.take(choice.length);
  return [
    {
      name,
      description,
      isSecret,
      isRequired: member(input, 'isRequired') === true,
      default: preset,
      choices,
    },
  ];
}

function joined(parts: Template): Template {
  const all: (string | Input)[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    if (typeof part === 'string' && typeof last === 'string') all[all.length - 1] = last + part;
    else if (part !== '') all.push(part);
  }
  return all;
}
