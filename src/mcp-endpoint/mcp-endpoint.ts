import { createRequire } from 'node:module';
import { setImmediate } from 'node:timers/promises';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { Injectable } from '@nestjs/common';
import { Ajv, type ValidateFunction } from 'ajv';
import type { LoadedRequest } from '../auth/route.js';
import { versionReport } from '../health/version-report.js';
import { toApiError } from '../http/error.filter.js';
import { ApiError, type ErrorCode } from '../http/errors.js';
import { member } from '../json/json-values.js';
import { remembered } from '../limits/shared-reads.js';
import { isStorable } from '../validation/storable-text.js';
import type { VerifiedAccess } from '../visibility/registry-views.js';
import { insertJson, type InsertedJson, OBJECT_PLACE, quotedJson, STRING_PLACE } from './inserted-json.js';
import type { ProtocolHeaders } from './message-handler.js';
import { Skills } from './skills.js';
import type { Tool } from './tool-schemas.js';
import { Tools } from './tools.js';

/**
 * The MCP server of each registry (reference/mcp; MCP 2025-11-25 and 2026-07-28, basic/transports). It is stateless: each
 * message gets a separate SDK server. Access is checked beforehand, as in the REST API.
 */
@Injectable()
export class McpEndpoint {
  private readonly info = {
    name: 'registry-server',
    title: 'MCP registry',
    version: versionReport({ commit: undefined, date: undefined }).version,
  };
  private readonly tools: ReadonlyMap<string, Tool>;
  private readonly descriptions: { readonly name: string }[];
  private readonly validators = new Map<string, ValidateFunction>();
  private readonly results = new WeakMap<object, CallToolResult>();
  private readonly handler = new Map<'handler', ReturnType<typeof loadHandler>>();

  constructor(
    tools: Tools,
    private readonly skills: Skills,
  ) {
    this.tools = new Map(tools.all.map((tool) => [tool.name, tool]));
    this.descriptions = tools.all.map(({ name, title, description, inputSchema, outputSchema }) => ({
      name,
      title,
      description,
      inputSchema,
      outputSchema,
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    }));
  }

  /**
   * @param message a parsed JSON-RPC message.
   * @throws ApiError 400 for an invalid message of a protocol before 2026-07-28, and any REST API error that is not a
   *   tool error.
   */
  async answer(
    access: VerifiedAccess,
    request: LoadedRequest,
    message: unknown,
  ): Promise<{ readonly status: number; readonly body: string | Buffer }> {
    // MCP 2025-06-18 removed batches, and a batch would count as only one request toward the limits.
    if (Array.isArray(message))
      throw new ApiError('invalid_body', 'The body must be one message: batches are not supported');
    const refusals: unknown[] = [];
    let inserted: InsertedJson | undefined;
    // Keeps errors that fail the whole request, as in the REST API: the SDK would turn them into internal errors.
    const recorded = async <Result>(work: Promise<Result>): Promise<Result> => {
      work.catch((error: unknown) => refusals.push(error));
      return work;
    };
    const { handleMessage } = await remembered(this.handler, 'handler', loadHandler);
    const answer = await handleMessage(
      {
        info: this.info,
        instructions: `The MCP servers and skills in the registry "${access.registryName}" that you may see.`,
        tools: this.descriptions,
        callTool: (name, args) =>
          recorded(this.call(name, access, request, args, (json) => (inserted = json))),
        listSkills: (cursor) => recorded(this.skills.list(access, cursor)),
        getSkill: (uri) => recorded(this.skills.get(access, request, uri)),
        readFile: (uri) => recorded(this.skills.read(access, request, uri, (json) => (inserted = json))),
      },
      protocolHeaders(request),
      message,
    );
    if (refusals.length > 0) throw refusals[0];
    if (answer.status >= 400 && !answer.isModern) throw new ApiError('invalid_body', sentenceIn(answer.text));
    const { status, text } = answer;
    return { status, body: inserted ? insertJson(text, inserted) : text };
  }

  private async call(
    name: string,
    access: VerifiedAccess,
    request: LoadedRequest,
    args: Readonly<Record<string, unknown>>,
    insert: (json: InsertedJson) => void,
  ): Promise<CallToolResult> {
    const tool = this.tools.get(name);
    if (!tool) throw new Error(`There is no tool ${name}`);
    const problem = this.problemOf(tool, args);
    if (problem !== undefined) return toolError(new ApiError('invalid_parameter', problem));
    try {
      const found = await tool.run(access, args as never);
      if (Buffer.isBuffer(found)) insert({ string: await quotedJson(found), object: found });
      const result = Buffer.isBuffer(found) ? INSERTED : this.resultOf(found);
      const entry = tool.entryOf?.(args as never);
      if (entry) request.readEntry = entry;
      return result;
    } catch (thrown) {
      const error = toApiError(thrown);
      if (TOOL_ERRORS.has(error.code)) return toolError(error);
      throw thrown;
    }
  }

  /** Returns the tool result, and serializes each cached page only once. */
  private resultOf(structuredContent: object): CallToolResult {
    const cached = this.results.get(structuredContent);
    if (cached) return cached;
    const result = toolResult(JSON.stringify(structuredContent), structuredContent);
    this.results.set(structuredContent, result);
    return result;
  }

  private problemOf({ name, inputSchema }: Tool, args: unknown): string | undefined {
    const validate = this.validators.get(name) ?? new Ajv({ strict: false }).compile(inputSchema);
    this.validators.set(name, validate);
    if (validate(args)) return unstorableProblem(args);
    const [error] = validate.errors ?? [];
    return `arguments${error?.instancePath.replaceAll('/', '.') ?? ''} ${error?.message ?? 'are not valid'}`;
  }
}

function toolResult(text: string, structuredContent: object): CallToolResult {
  return { content: [{ type: 'text', text }], structuredContent: { ...structuredContent } };
}

const INSERTED = toolResult(STRING_PLACE, OBJECT_PLACE);

/** Unlike `import()`, it tries again after a failure, such as too many open files. */
const requireEsm = createRequire(import.meta.url);

/** Loads the SDK on the first message. Building its schemas blocks the event loop again, so others are served first. */
async function loadHandler(): Promise<typeof import('./message-handler.js')> {
  const loaded = requireEsm('./message-handler.js') as typeof import('./message-handler.js');
  await setImmediate();
  return loaded;
}

function unstorableProblem(args: unknown): string | undefined {
  for (const [key, value] of Object.entries(args as object))
    if (typeof value === 'string' && !isStorable(value))
      return `arguments.${key} must be text without NUL characters or unpaired surrogates`;
  return undefined;
}

function protocolHeaders({ headers }: LoadedRequest): ProtocolHeaders {
  return Object.fromEntries(
    PROTOCOL_HEADERS.flatMap((name) => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value]] : [];
    }),
  );
}

const PROTOCOL_HEADERS = ['mcp-protocol-version', 'mcp-method', 'mcp-name'] as const;

function sentenceIn(text: string): string {
  try {
    const message = member(member(JSON.parse(text), 'error'), 'message');
    if (typeof message === 'string') return message;
  } catch {
    // This is not a JSON-RPC error.
  }
  return 'The body is not a JSON-RPC message';
}

/**
 * Errors that a corrected call can avoid: they become tool results with status 200 (reference/mcp). Any other error fails
 * the entire request, as in the REST API.
 */
const TOOL_ERRORS: ReadonlySet<ErrorCode> = new Set([
  'entry_not_found',
  'version_not_found',
  'invalid_cursor',
  'invalid_parameter',
]);

/** A tool execution error (MCP 2025-11-25 server/tools). */
function toolError({ code, message }: ApiError): CallToolResult {
  return { content: [{ type: 'text', text: `${code}: ${message}` }], isError: true };
}
