import type { OpenAPIObject } from '@nestjs/swagger';
import { CLAIM_VALUE_SCHEMA } from '../../claims/claims.js';
import { ENTRY_TYPE_NAMES } from '../../documents/entry-types.js';
import { SOURCE_KINDS } from '../../source-kinds/kinds.js';

type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;
type Schema = Exclude<Schemas[string], { $ref: string }>;

/** Documents and messages may have keys that their schemas do not define. */
const OPEN = /Document$|^McpMessage$/;

/** Returns the schemas that a part of the document refers to, directly or transitively. */
export function schemasIn<T extends object>(
  part: object,
  schemas: Record<string, T>,
  found = new Set<string>(),
) {
  for (const [, name = ''] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
    const schema = schemas[name];
    if (!schema || found.has(name)) continue;
    found.add(name);
    schemasIn(schema, schemas, found);
  }
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => found.has(name)));
}

/**
 * Tells client generators what the server enforces: exactly one document, exactly one kind of source, and no unknown
 * keys in bodies.
 */
export function stateRules(document: OpenAPIObject): void {
  const schemas = (document.components ??= {}).schemas ?? {};
  for (const schema of Object.values(schemas)) if ('properties' in schema) putTypeFirst(schema.properties);
  schemas['ClaimValue'] = CLAIM_VALUE_SCHEMA;
  divide(schemas, 'PublishBody', ENTRY_TYPE_NAMES);
  // This schema is not split: the web UI builds its forms from the properties, and a GET returns all kinds in one
  // schema.
  (schemas['SourceSettings'] as Schema).oneOf = SOURCE_KINDS.map((kind) => ({ required: [kind] }));
  const bodies = Object.values(document.paths).flatMap((operations: object) =>
    Object.values(operations as Record<string, { requestBody?: object }>).map(
      ({ requestBody }) => requestBody ?? {},
    ),
  );
  for (const [name, schema] of Object.entries(schemasIn(bodies, schemas)))
    if (!OPEN.test(name) && 'properties' in schema) schema.additionalProperties = false;
}

/** Puts `type` first. In some properties, Swagger puts it first in the first document of a process and last in later ones. */
function putTypeFirst(properties: Schema['properties'] = {}): void {
  for (const [name, property] of Object.entries(properties))
    if ('type' in property) properties[name] = { type: property.type, ...property };
}

/** Replaces a schema with a union of schemas that each have one of these members, such as `ServerPublishBody`. */
function divide(schemas: Schemas, name: string, keys: readonly string[]): void {
  const { description, ...whole } = schemas[name] as Schema;
  const choices = keys.map((key) => {
    const variant = `${key[0]?.toUpperCase()}${key.slice(1)}${name}`;
    const properties = Object.entries(whole.properties ?? {}).filter(
      ([member]) => member === key || !keys.includes(member),
    );
    schemas[variant] = {
      ...whole,
      properties: Object.fromEntries(properties) as Schemas,
      required: [...(whole.required ?? []), key],
    };
    return { $ref: `#/components/schemas/${variant}` };
  });
  schemas[name] = { ...(description === undefined ? {} : { description }), oneOf: choices };
}
