import { elements, member } from '../json/json-values.js';
import type { TextLimit } from './text-limit.js';

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
