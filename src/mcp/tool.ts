import type { ReadEntry } from '../auth/route.js';
import type { RegistryAccess } from '../views/view.js';

/** A JSON schema of an object. */
export interface ObjectSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean;
}

/** What a tool says of itself (MCP 2025-11-25, server/tools). */
export interface ToolDescription {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: ObjectSchema;
  readonly outputSchema: ObjectSchema;
}

/** A tool of the endpoint. */
export interface Tool<Arguments = never> extends ToolDescription {
  /** What it reads, if that is one entry. */
  entryOf?(args: Arguments): ReadEntry;
  /**
   * @param args that fit the input schema.
   * @throws ApiError what the same question to the REST API is refused with.
   */
  run(access: RegistryAccess, args: Arguments): Promise<object>;
}
