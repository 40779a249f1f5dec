import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

export interface OpenApi {
  openapi: string;
  info: { title: string; version: string; description: string };
  servers?: unknown;
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

export interface Operation {
  operationId: string;
  summary?: string;
  tags?: string[];
  parameters?: Parameter[];
  requestBody?: { content: Record<string, Content> };
  responses: Record<string, { headers?: Record<string, unknown>; content?: Record<string, Content> }>;
  security?: unknown;
}

interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  description?: string;
  schema: Schema;
}

export interface Schema {
  $ref?: string;
  type?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  oneOf?: Schema[];
  items?: Schema;
  enum?: string[];
  minimum?: number;
  maximum?: number;
  default?: unknown;
  example?: unknown;
}

interface Content {
  schema?: Schema;
  examples?: Record<string, { value: Record<string, unknown> }>;
}

/** An operation with its method and path. */
export interface Described extends Operation {
  readonly method: string;
  readonly path: string;
}

export function operationsOf({ paths }: OpenApi): Described[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
    })),
  );
}

/** The path with parameters replaced by their examples. */
export function examplePath({ path, parameters = [] }: Described): string {
  const query = parameters
    .filter((parameter) => parameter.in === 'query' && parameter.required)
    .map(({ name, schema }) => `${name}=${encodeURIComponent(String(schema.example))}`);
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const parameter = parameters.find((candidate) => candidate.name === name);
    return encodeURIComponent(String(parameter?.schema.example));
  });
  return query.length > 0 ? `${filled}?${query.join('&')}` : filled;
}

/** Checks values against the document's schemas, and that they have no undescribed members. */
export class SchemaCheck {
  private readonly ajv = new Ajv2020({ strict: false, allErrors: true });
  private readonly compiled = new Map<string, ValidateFunction>();

  constructor(document: OpenApi) {
    formats.default(this.ajv);
    const schemas = Object.entries(document.components.schemas).map(([name, schema]) => [
      name,
      schema.properties ? { ...schema, additionalProperties: false } : schema,
    ]);
    this.ajv.addSchema({ components: { schemas: Object.fromEntries(schemas) as object } }, 'openapi');
  }

  /** The schema violations of a value. */
  problems(schema: Schema | undefined, value: unknown): string[] {
    const key = JSON.stringify(schema);
    const validate = this.compiled.get(key) ?? this.ajv.compile(absolute(schema));
    this.compiled.set(key, validate);
    validate(value);
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath}: ${message}`);
  }
}

function absolute(schema: Schema | undefined): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi#/')) as object;
}
