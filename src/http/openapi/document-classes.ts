import type { Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { ENTRY_TYPE_NAMES, ENTRY_TYPES, type EntryType } from '../../documents/entry-types.js';

type OpenApiSchema = Exclude<NonNullable<ApiPropertyOptions['items']>, { $ref: string }>;

/** The parts of a document's JSON schema that OpenAPI supports. */
interface DocumentSchema {
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly items?: DocumentSchema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, DocumentSchema>>;
  readonly additionalProperties?: DocumentSchema | false;
  readonly then?: DocumentSchema;
  readonly else?: DocumentSchema;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
}

/** OpenAPI names for formats in `DOCUMENT_FORMATS`; the other formats have none. */
const FORMATS: Readonly<Record<string, string>> = { 'web-url': 'uri', 'web-reference': 'uri-reference' };

/** Capitalizes a type for the names of generated classes: `Skill` for `skill`. */
export function nounOf(type: EntryType): string {
  return `${type[0]?.toUpperCase()}${type.slice(1)}`;
}

/** Returns the OpenAPI class for a type's documents, such as `SkillDocument`, generated from their JSON schema. */
export function documentClassOf(type: EntryType): Type {
  return CLASSES[type];
}

/** Creates a class used only to describe a schema in OpenAPI. */
export function describedClass(name: string, properties: Readonly<Record<string, ApiPropertyOptions>>): Type {
  const described = { [name]: function () {} }[name] as unknown as Type;
  for (const [key, options] of Object.entries(properties))
    ApiProperty(options)(described.prototype as object, key);
  return described;
}

const CLASSES = Object.fromEntries(
  ENTRY_TYPE_NAMES.map((type) => [
    type,
    classFrom(`${nounOf(type)}Document`, ENTRY_TYPES[type].schema as DocumentSchema),
  ]),
) as Record<EntryType, Type>;

function classFrom(name: string, { properties = {}, required = [] }: DocumentSchema): Type {
  const described = Object.entries(properties).map(([key, schema]) => {
    const isRequired = required.includes(key);
    const { required: members, ...described } = openApiOf(schema, key);
    return [
      key,
      members
        ? { ...described, required: members, selfRequired: isRequired }
        : { ...described, required: isRequired },
    ];
  });
  return describedClass(name, Object.fromEntries(described) as Record<string, ApiPropertyOptions>);
}

function openApiOf(schema: DocumentSchema, key?: string): OpenApiSchema {
  const { type, enum: words, items, minLength, maxLength, pattern } = schema;
  if (words) return { type: 'string', enum: [...words] };
  if (type === 'array') return { type: 'array', items: openApiOf(items ?? {}) };
  if (type === 'object') return objectOf(schema, key);
  if (type !== 'string') return type === undefined ? {} : { type };
  const format = FORMATS[schema.format ?? ''];
  return {
    type,
    ...(format === undefined ? {} : { format }),
    ...(minLength === undefined ? {} : { minLength }),
    ...(maxLength === undefined ? {} : { maxLength }),
    ...(pattern === undefined ? {} : { pattern }),
  };
}

// Merges the branches of a schema that depends on `type`; document validation checks which members each branch
// requires.
function objectOf(schema: DocumentSchema, key?: string): OpenApiSchema {
  const { additionalProperties, required = [] } = schema;
  const properties = { ...schema.else?.properties, ...schema.then?.properties, ...schema.properties };
  const described = Object.entries(properties).map(([name, property]) => [name, openApiOf(property, name)]);
  const isOpen = described.length === 0 || key === '_meta';
  return {
    type: 'object',
    ...(described.length > 0
      ? { properties: Object.fromEntries(described) as Record<string, OpenApiSchema> }
      : {}),
    ...(required.length > 0 ? { required: [...required] } : {}),
    ...(additionalProperties ? { additionalProperties: openApiOf(additionalProperties) } : {}),
    ...(additionalProperties === undefined && isOpen ? { additionalProperties: true } : {}),
  };
}
