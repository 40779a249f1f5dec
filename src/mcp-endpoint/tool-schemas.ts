import type { ReadEntry } from '../auth/route.js';
import { CLIENTS } from '../client-config/clients.js';
import { OMISSIONS } from '../client-config/template.js';
import { statusesOf } from '../documents/statuses.js';
import { MAX_PAGE } from '../validation/value-checks.js';
import type { VerifiedAccess } from '../visibility/registry-views.js';

export interface ObjectSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean;
}

/** A tool as `tools/list` shows it (MCP 2025-11-25 server/tools). */
interface ToolDescription {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: ObjectSchema;
  readonly outputSchema: ObjectSchema;
}

export interface Tool<Arguments = never> extends ToolDescription {
  /** Returns the entry that a call reads. Search tools do not have this method. */
  entryOf?(args: Arguments): ReadEntry;
  /**
   * @param args arguments that are valid against the input schema.
   * @returns the structured result, as an object or as JSON that is sent without parsing.
   * @throws the same ApiError as the corresponding REST API route.
   */
  run(access: VerifiedAccess, args: Arguments): Promise<object | Buffer>;
}

const text = (description: string, more: object = {}) => ({ type: 'string', description, ...more });
const object = (
  properties: Readonly<Record<string, object>>,
  required: readonly string[] = [],
): ObjectSchema => ({ type: 'object', properties, required });

const NAME = text('The name of the server', { examples: ['io.github.example/weather'], maxLength: 255 });
const VERSION = text('An exact version; the latest one if absent', { maxLength: 255 });
const CURSOR = text('`nextCursor` of the previous page; it includes the query', { maxLength: 8_192 });
const CLIENT = { type: 'string', enum: [...CLIENTS] };
const STATUS = (type: 'server' | 'skill') => ({ type: 'string', enum: [...statusesOf(type)] });
const DOCUMENT = { type: 'object', description: 'As published', additionalProperties: true };

/** @param perPage the default for `limit`. */
export function searchInput(what: string, perPage: number): ObjectSchema {
  return {
    ...object({
      query: text(`Case-insensitive substring of name, title or description; all ${what} when absent`, {
        maxLength: 500,
      }),
      limit: { type: 'integer', minimum: 1, maximum: MAX_PAGE, default: perPage },
      cursor: CURSOR,
    }),
    additionalProperties: false,
  };
}

/** @param listKey the key under which the output contains the array of rows. */
export function searchOutput(listKey: string, row: ObjectSchema): ObjectSchema {
  return object(
    {
      [listKey]: { type: 'array', items: row },
      count: { type: 'integer', description: 'Rows on this page' },
      nextCursor: text('Absent on the last page'),
    },
    [listKey, 'count'],
  );
}

export const SERVER_ROW = object(
  {
    name: text('For `get_server` and `how_to_connect`'),
    version: text('The latest version'),
    title: { type: 'string' },
    description: { type: 'string' },
    websiteUrl: { type: 'string' },
    status: STATUS('server'),
  },
  ['name', 'version', 'description', 'status'],
);

export const SKILL_ROW = object(
  {
    namespace: { type: 'string' },
    name: { type: 'string' },
    version: text('The latest version'),
    title: { type: 'string' },
    description: { type: 'string' },
    status: STATUS('skill'),
  },
  ['namespace', 'name', 'version', 'description'],
);

export const GET_SERVER_INPUT: ObjectSchema = {
  ...object({ name: NAME, version: VERSION }, ['name']),
  additionalProperties: false,
};
export const GET_SERVER_OUTPUT = object({ server: DOCUMENT, _meta: { type: 'object' } }, ['server', '_meta']);

export const GET_SKILL_INPUT: ObjectSchema = {
  ...object(
    {
      namespace: text('The namespace of the skill', { examples: ['io.github.example'], maxLength: 255 }),
      name: text('The name of the skill without its namespace', { maxLength: 255 }),
      version: VERSION,
    },
    ['namespace', 'name'],
  ),
  additionalProperties: false,
};
export const GET_SKILL_OUTPUT = object({ skill: DOCUMENT }, ['skill']);

export const CONNECT_INPUT: ObjectSchema = {
  ...object({ name: NAME, version: VERSION, client: { ...CLIENT, description: 'All clients when absent' } }, [
    'name',
  ]),
  additionalProperties: false,
};
export const CONNECT_OUTPUT = object(
  {
    name: { type: 'string' },
    version: { type: 'string' },
    clients: {
      type: 'array',
      items: object(
        {
          client: CLIENT,
          configuration: {
            type: 'object',
            description:
              "What to add to the client's own configuration file; `x-environment` lists the variables to set first",
            additionalProperties: true,
          },
          toml: text('The configuration as text, for a client that reads TOML'),
          omitted: object(
            { reason: { type: 'string', enum: Object.keys(OMISSIONS) }, explanation: { type: 'string' } },
            ['reason', 'explanation'],
          ),
        },
        ['client'],
      ),
    },
  },
  ['name', 'version', 'clients'],
);
