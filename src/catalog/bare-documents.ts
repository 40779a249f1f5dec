import type { Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { type BareType, ENTRY_TYPES } from '../documents/entry-types.js';
import { PageMetadata } from './catalog.responses.js';

/** A property of a document, as far as the JSON schemas of documents say it. */
interface PropertyRule {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly items?: PropertyRule;
  readonly minLength?: number;
  readonly maxLength?: number;
}

/** The classes by which OpenAPI describes a type of entries that is shown bare: made from its JSON schema. */
export interface BareAnswers {
  readonly document: Type;
  readonly list: Type;
}

export function answersOf(type: BareType): BareAnswers {
  const { listKey, schema } = ENTRY_TYPES[type];
  const required: readonly string[] = schema.required;
  const document = describedClass(
    `${nounOf(type)}Document`,
    Object.entries(schema.properties as Readonly<Record<string, PropertyRule>>).map(([key, rule]) => [
      key,
      { ...describe(rule), required: required.includes(key) } as ApiPropertyOptions,
    ]),
  );
  const list = describedClass(`${nounOf(type)}List`, [
    [listKey, { type: [document] }],
    ['metadata', { type: PageMetadata }],
  ]);
  return { document, list };
}

/** `Skill` of `skill`, for names in code that is made for a type. */
export function nounOf(type: BareType): string {
  return `${type[0]?.toUpperCase()}${type.slice(1)}`;
}

function describedClass(name: string, properties: [string, ApiPropertyOptions][]): Type {
  const described = { [name]: function () {} }[name] as unknown as Type;
  for (const [key, options] of properties) ApiProperty(options)(described.prototype as object, key);
  return described;
}

function describe({ type, enum: values, items, minLength, maxLength }: PropertyRule): ApiPropertyOptions {
  if (values) return { type: 'string', enum: [...values] };
  if (type === 'object') return { type: 'object', additionalProperties: true };
  if (type === 'array')
    return { type: 'array', items: items?.type === 'object' ? { type: 'object' } : { type: 'string' } };
  return {
    type: 'string',
    ...(minLength === undefined ? {} : { minLength }),
    ...(maxLength === undefined ? {} : { maxLength }),
  };
}
