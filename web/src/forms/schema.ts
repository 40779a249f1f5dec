import { API_BASE, failureOf, send } from '../api/client.js';

/** The parts of JSON Schema that the OpenAPI document uses. */
export interface Schema {
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly example?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: unknown;
}

export type Schemas = Readonly<Record<string, Schema>>;

let schemas: Promise<Schemas> | undefined;

/** The server's own schemas. Forms are generated from them, so they contain only fields this server accepts. */
export function readSchemas(): Promise<Schemas> {
  schemas ??= read().catch((thrown: unknown) => {
    schemas = undefined;
    throw thrown;
  });
  return schemas;
}

async function read(): Promise<Schemas> {
  const response = await send(new Request(`${API_BASE}/openapi.json`));
  const body: unknown = await response.json().catch(() => undefined);
  if (!response.ok) throw failureOf(response.status, body);
  return (body as { components: { schemas: Schemas } }).components.schemas;
}

/** Resolves a `$ref`; a description next to the reference wins. */
export function resolveRef(schema: Schema, all: Schemas): Schema {
  const [only] = schema.allOf ?? [];
  const { $ref } = only ?? schema;
  if ($ref === undefined) return schema;
  const target = all[$ref.replace('#/components/schemas/', '')] ?? {};
  return { ...target, description: schema.description ?? target.description };
}

export function isClaims({ type, properties, additionalProperties }: Schema): boolean {
  return type === 'object' && properties === undefined && additionalProperties !== undefined;
}

/** `syncPolicy` → `Sync policy` */
export function labelOf(key: string): string {
  const words = key
    .replaceAll(/([a-z])([A-Z]+)/g, '$1 $2')
    .toLowerCase()
    .replaceAll(/\b(url|ip|id)\b/g, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Returns the value without these members. */
export function without(value: object, ...keys: readonly string[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));
}

/** The settings of a source or registry as PUT accepts them, including those that this page does not know. */
export function settingsOf(stored: object): Readonly<Record<string, unknown>> {
  return without(stored, 'name', 'kind', 'origin', 'createdAt', 'updatedAt', 'sync');
}

/** Removes empty fields: an empty input means the setting is absent. */
export function dropEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(dropEmpty).filter((item) => item !== undefined && item !== '');
  if (typeof value !== 'object' || value === null) return value === '' ? undefined : value;
  const kept = Object.entries(value).flatMap(([key, member]) => {
    const left = dropEmpty(member);
    return left === undefined || (Array.isArray(left) && left.length === 0) ? [] : [[key, left] as const];
  });
  return Object.fromEntries(kept);
}

/** The API's problems with the field at this path. Items of a string list are identified by line. */
export function problemsAt(details: readonly string[], path: string): string[] {
  return details.flatMap((detail) => problemOf(detail, path) ?? []);
}

function problemOf(detail: string, path: string): string | undefined {
  if (!detail.startsWith(path)) return undefined;
  const [, index, problem] = /^(?:\[(\d+)\])?: (.*)$/s.exec(detail.slice(path.length)) ?? [];
  return index === undefined || problem === undefined ? problem : `line ${Number(index) + 1}: ${problem}`;
}

/** The API's problems with a form. Each is shown once: at its field, or else below the form. */
export class FieldProblems {
  private readonly shown = new Set<string>();

  constructor(private readonly details: readonly string[]) {}

  /** Returns the problems with a field, and marks them as shown. */
  at(path: string): string[] {
    for (const detail of this.details) if (problemOf(detail, path) !== undefined) this.shown.add(detail);
    return problemsAt(this.details, path);
  }

  /** Returns whether a field or one inside it has a problem. */
  isWithin(path: string): boolean {
    return this.details.some((detail) => detail.startsWith(path) && /^[.[:]/.test(detail.slice(path.length)));
  }

  /** Returns the problems that no field has shown. */
  rest(): string[] {
    return this.details.filter((detail) => !this.shown.has(detail));
  }
}
