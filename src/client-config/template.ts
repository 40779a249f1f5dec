import { elements, member } from '../json/json-values.js';

/** Why a server has no entry in the configuration of a client. The codes never change, the sentences may. */
export const OMISSIONS = {
  no_connection: 'The document names neither a remote nor a package',
  unsupported_registry_type: 'No client of these runs packages of this type by a command',
  unsupported_transport: 'The package listens on a port: a client can connect to it, and not start it',
  unsupported_runtime:
    'The arguments are for another runtime than the one that runs packages of this type here',
  custom_package_registry: 'The package is in another registry than the usual one of its type',
  invalid_package: 'The name or the version of the package is not one that its registry could have',
  invalid_url: 'The URL is not valid, or holds a user or a password',
  invalid_header: 'The name of a header is not valid, stands twice, or its value has a line break',
  invalid_environment_variable: 'The name of an environment variable is not valid, or stands twice',
  variable_reference:
    'A value holds what the client would take for a reference to a variable, and it has no escape for that',
  shell_syntax:
    'An argument holds a character that means something to the shell by which the client may run it',
  chosen_by_user:
    'What is to be allowed holds a value that each user chooses, and the client has no pattern for it',
  wildcard: 'What is to be allowed holds a character that the client takes for a wildcard',
  too_long: 'The texts of its connection are too long once their variables are filled in',
} as const satisfies Record<string, string>;

export type OmissionReason = keyof typeof OMISSIONS;

/** A server that has no entry, as it is named beside those that have. */
export interface Omission {
  readonly name: string;
  readonly version: string;
  readonly reason: OmissionReason;
}

/** What a document says can't be said in the configuration of a client. */
export class Inexpressible extends Error {
  override readonly name = 'Inexpressible';

  constructor(readonly reason: OmissionReason) {
    super(OMISSIONS[reason]);
  }
}

/** Of all that is made of one document. */
const MAX_CHARACTERS = 64 * 1_024;
/** What a text takes beside its characters. */
const CHARACTERS_PER_TEXT = 16;

/**
 * Bounds what is made of one document: a text may name a variable as often as there is room for the name, and the variable may be
 * long, so that a document of one mebibyte stands for gigabytes.
 */
export class TextLimit {
  private taken = 0;

  /** How many characters were taken so far. */
  get characters(): number {
    return this.taken;
  }

  /** @throws Inexpressible when there would be more than may be. */
  take(characters: number): void {
    this.taken += CHARACTERS_PER_TEXT + characters;
    if (this.taken > MAX_CHARACTERS) throw new Inexpressible('too_long');
  }
}

/** A value that is for the user to give. */
export interface Input {
  /** As the document calls it. */
  readonly name: string;
  readonly description: string;
  readonly isSecret: boolean;
  readonly isRequired: boolean;
  readonly default: string | undefined;
  readonly choices: readonly string[];
}

/** Text of the document, and values that are for the user to give. No two texts stand next to each other. */
export type Template = readonly (string | Input)[];

const VARIABLE = /\{([^{}]+)\}/g;

/**
 * The value of an `Input` of a server document (https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json): its
 * `value`, in which `{name}` is a variable; else its `default`, unless it is a secret; else what the user gives. A `{name}` that
 * `variables` does not have stays as it is.
 *
 * @param name what it is called for the user.
 * @throws Inexpressible beyond the limit.
 */
export function templateOf(input: unknown, name: string, limit: TextLimit): Template {
  const value = textMember(input, 'value');
  if (value !== undefined) return fill(value, member(input, 'variables'), limit);
  return withoutVariables(input, name, limit);
}

/**
 * The text with its `{variables}` in place.
 *
 * @throws Inexpressible beyond the limit.
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

/** Has the document no value for it, so that only the user can give one? */
export function isOpen(template: Template): boolean {
  return template.some((part) => typeof part !== 'string');
}

/** The text of a template without inputs. */
export function textOf(template: Template): string {
  return template.filter((part) => typeof part === 'string').join('');
}

/** The template with this text in place of each input. */
export function withInputsAs(template: Template, replacement: string): string {
  return template.map((part) => (typeof part === 'string' ? part : replacement)).join('');
}

export function textMember(value: unknown, key: string): string | undefined {
  const text = member(value, key);
  return typeof text === 'string' ? text : undefined;
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
