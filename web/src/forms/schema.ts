import { API_BASE, send } from '../api/client.js';
import { failureOf } from '../api/failure.js';

/** A JSON Schema, as far as the OpenAPI document uses it. */
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

/** The shapes of what this server takes, in its own words. Forms are made from them, so they never ask for what it does not know. */
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

/** What a reference leads to, with the description that stands beside it. */
export function resolved(schema: Schema, all: Schemas): Schema {
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

/** Without what was left empty: a field that nobody has filled is absent, and not empty. */
export function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value))
    return value.map(withoutEmpty).filter((item) => item !== undefined && item !== '');
  if (typeof value !== 'object' || value === null) return value === '' ? undefined : value;
  const kept = Object.entries(value).flatMap(([key, member]) => {
    const left = withoutEmpty(member);
    return left === undefined || (Array.isArray(left) && left.length === 0) ? [] : [[key, left] as const];
  });
  return Object.fromEntries(kept);
}

/** What the API has said of the member at this path: of a list of texts, each of which is a line, by that line. */
export function problemsAt(details: readonly string[], path: string): string[] {
  return details.flatMap((detail) => {
    if (!detail.startsWith(path)) return [];
    const [, place, problem] = /^(?:\[(\d+)\])?: (.*)$/s.exec(detail.slice(path.length)) ?? [];
    if (problem === undefined) return [];
    return [place === undefined ? problem : `line ${Number(place) + 1}: ${problem}`];
  });
}
