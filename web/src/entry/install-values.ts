/** The configuration of one server in a client's format. */
export type Entry = Readonly<Record<string, unknown>>;

/** A value that the user supplies. */
export interface Field {
  /** The name in the document, in the same letter case for every client. */
  readonly name: string;
  readonly description: string;
  readonly isSecret: boolean;
  readonly isRequired: boolean;
  readonly choices: readonly string[];
  /** Placeholders for the value in the client's configuration. */
  readonly references: readonly string[];
  /** Where the value comes from: the form, a prompt of the client, or an environment variable that the client reads. */
  readonly from: 'form' | 'prompt' | 'environment';
  /** The environment variable in the references. */
  readonly variable?: string;
  /** The variable of the server that the user adds to this table of the file. */
  readonly table?: string;
}

/** The values by field name. */
export type Values = Readonly<Record<string, string>>;

/** The key of `Values` for an optional value that the client asks for. */
export function askKey(name: string): string {
  return `ask for ${name}`;
}

/**
 * Placeholder in a command for a missing value: the shell must not expand it, because a document could name any
 * variable.
 */
export const PLACEHOLDER = 'YOUR_VALUE';

type Stated = Pick<Field, 'name' | 'description' | 'isSecret' | 'isRequired' | 'choices'>;

/**
 * Returns the fields of a configuration, required ones first.
 *
 * @param configuration as returned by the server, with `inputs` or `x-environment`.
 * @param part the remote or package of the document, which says more about them.
 */
export function fieldsOf(client: string, configuration: Entry, part: unknown): readonly Field[] {
  const { name: server, entry } = entryIn(configuration);
  const stated = new Map(inputsOf(part).map((input) => [wordOf(input.name), input]));
  const completed = (field: Omit<Field, 'isRequired' | 'choices'>): Field => {
    const word = wordOf(field.name);
    const input = stated.get(word) ?? stated.get(word.replace(/_\d+$/, ''));
    // Arguments and URLs would be different without a value.
    const isNeeded = contains([entry['args'], entry['url']], field.references);
    const { name = field.name, isRequired = false, choices = [] } = input ?? {};
    return { ...field, name, isRequired: isRequired || isNeeded, choices };
  };
  const prompts = listOf(configuration['inputs']).map((input) => {
    const id = String(input['id']);
    const isSecret = input['password'] === true;
    return completed({
      name: withoutStart(id, `${server}/`),
      description: withoutStart(String(input['description']), `${server}: `),
      isSecret,
      references: [`\${input:${id}}`],
      from: isSecret ? 'prompt' : 'form',
    });
  });
  const variables = listOf(configuration['x-environment']).map((input) => {
    const { table, name, description = '' } = input;
    const variable = String(input['variable']);
    const isSecret = input['isSecret'] === true;
    const about = { name: String(name ?? variable), description: String(description), isSecret };
    if (table !== undefined)
      return completed({ ...about, references: [], from: 'form', table: String(table) });
    // Codex does not support variable references, except headers that it reads from environment variables.
    if (client === 'codex')
      return completed({ ...about, references: [variable], from: 'environment', variable });
    const references = [`\${${variable}:-}`, `\${${variable}}`, `\${env:${variable}}`];
    return completed({ ...about, references, from: 'form', variable });
  });
  return requiredFirst([...prompts, ...variables]);
}

/** Whether a part of a configuration contains one of these placeholders. */
function contains(part: unknown, texts: readonly string[]): boolean {
  const whole = JSON.stringify(part);
  return texts.some((text) => whole.includes(JSON.stringify(text).slice(1, -1)));
}

/** Returns what ToolHive asks for or takes as options when it runs a package. */
export function toolhiveFields(part: unknown): readonly Field[] {
  const { environmentVariables } = (part ?? {}) as Entry;
  return requiredFirst(
    inputsOf(listOf(environmentVariables).filter(({ value }) => value === undefined)).map((input) => ({
      ...input,
      references: [],
      from: input.isSecret ? 'prompt' : 'form',
    })),
  );
}

function requiredFirst(fields: readonly Field[]): readonly Field[] {
  return [...fields].sort((one, other) => Number(other.isRequired) - Number(one.isRequired));
}

interface FillOptions {
  /** Whether secrets may be written; otherwise their references stay. */
  readonly withSecrets: boolean;
  /** The placeholder for a missing required value. */
  readonly missing: 'reference' | 'placeholder';
}

/**
 * Returns an entry with its references replaced by values. Headers and variables of missing optional values are
 * omitted.
 */
export function filled(entry: Entry, fields: readonly Field[], values: Values, options: FillOptions): Entry {
  const replacements = new Map<string, string>();
  const left = new Set<string>();
  const own: Record<string, string> = {};
  for (const { name, isSecret, isRequired, references, from, table } of fields) {
    const typed = valueOf(values, from === 'prompt' ? askKey(name) : name);
    const isOptional = !isRequired && typed === '' && from !== 'environment';
    const missing = options.missing === 'placeholder' ? PLACEHOLDER : undefined;
    const isWritten = from === 'form' && (options.withSecrets || !isSecret);
    const value = isWritten ? typed || missing : undefined;
    if (table !== undefined && !isOptional && value !== undefined) own[name] = value;
    for (const reference of references)
      if (isOptional) left.add(reference);
      else if (value !== undefined) replacements.set(reference, value);
  }
  const replaced = replacedIn(withoutMembers(entry, left), replacements) as Entry;
  if (Object.keys(own).length === 0) return replaced;
  return { ...replaced, env: { ...(replaced['env'] as object | undefined), ...own } };
}

/** Returns the fields whose references remain in a text. */
export function referredIn(fields: readonly Field[], entry: Entry): readonly Field[] {
  return fields.filter(({ references }) => contains(entry, references));
}

function valueOf(values: Values, name: string): string {
  return Object.hasOwn(values, name) ? (values[name] ?? '') : '';
}

const NAMED = ['env', 'headers', 'env_http_headers'] as const;

function withoutMembers(entry: Entry, references: ReadonlySet<string>): Entry {
  if (references.size === 0) return entry;
  const hasNone = (value: unknown) => ![...references].some((reference) => String(value).includes(reference));
  const kept = NAMED.flatMap((key) => {
    const members = entry[key];
    if (typeof members !== 'object' || members === null) return [];
    return [
      [key, Object.fromEntries(Object.entries(members).filter(([, value]) => hasNone(value)))] as const,
    ];
  });
  const all = Object.entries({ ...entry, ...Object.fromEntries(kept) });
  return Object.fromEntries(
    all.filter(
      ([key, value]) =>
        (key !== 'bearer_token_env_var' || hasNone(value)) &&
        !(kept.some(([name]) => name === key) && Object.keys(value as object).length === 0),
    ),
  );
}

/** Replaces all references in one pass, because a value may look like a reference. */
function replacedIn(value: unknown, replacements: ReadonlyMap<string, string>): unknown {
  if (replacements.size === 0) return value;
  const all = [...replacements.keys()].map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`));
  const pattern = new RegExp(all.join('|'), 'g');
  const replace = (each: unknown): unknown => {
    if (typeof each === 'string')
      return each.replaceAll(pattern, (found) => replacements.get(found) ?? found);
    if (Array.isArray(each)) return each.map(replace);
    if (typeof each !== 'object' || each === null) return each;
    return Object.fromEntries(Object.entries(each).map(([key, member]) => [key, replace(member)]));
  };
  return replace(value);
}

/** Returns the only server of a configuration. */
export function entryIn(configuration: Entry): { readonly name: string; readonly entry: Entry } {
  const servers = configuration['servers'] ?? configuration['mcpServers'] ?? configuration['mcp_servers'];
  const [first] = Object.entries((servers ?? {}) as Record<string, unknown>);
  const entry = first?.[1];
  return {
    name: first?.[0] ?? '',
    entry: typeof entry === 'object' && entry !== null ? (entry as Entry) : {},
  };
}

/** Returns the inputs of a remote or package: arguments, headers, environment variables, and their variables. */
function inputsOf(part: unknown, key?: string): readonly Stated[] {
  if (typeof part !== 'object' || part === null) return [];
  if (Array.isArray(part)) return part.flatMap((each) => inputsOf(each));
  const { name = key, description, isSecret, isRequired, choices, variables } = part as Entry;
  const below = Object.entries(part).filter(([member]) => member !== 'variables');
  return [
    ...(typeof name === 'string'
      ? [
          {
            name,
            description: typeof description === 'string' ? description : '',
            isSecret: isSecret === true,
            isRequired: isRequired === true,
            choices: listIn(choices).filter((choice) => typeof choice === 'string'),
          },
        ]
      : []),
    ...below.flatMap(([, each]) => inputsOf(each)),
    ...Object.entries((variables ?? {}) as object).flatMap(([variable, each]) => inputsOf(each, variable)),
  ];
}

function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

function listOf(value: unknown): readonly Entry[] {
  return listIn(value).filter((each) => typeof each === 'object' && each !== null) as readonly Entry[];
}

/** Derives the IDs of inputs from names, like the server. */
function wordOf(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9]+/g, '_').replace(/^_+/, '');
}

function withoutStart(text: string, start: string): string {
  return text.startsWith(start) ? text.slice(start.length) : text;
}
