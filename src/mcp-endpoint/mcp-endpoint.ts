import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { Injectable } from '@nestjs/common';
import { Ajv, type ValidateFunction } from 'ajv';
import type { LoadedRequest } from '../auth/route.js';
import { versionReport } from '../health/version-report.js';
import { toApiError } from '../http/error.filter.js';
import { ApiError } from '../http/errors.js';
import { member } from '../json/json-values.js';
import { RegistryViews } from '../visibility/registry-views.js';
import type { RegistryAccess } from '../visibility/view.js';
import type { McpAnswer } from './message-handler.js';
import type { Tool } from './tool-schemas.js';
import { isToolError, toolError, Tools } from './tools.js';

/** What has become of the calls of tools in one message. */
interface Calls {
  readonly refusals: unknown[];
  hasRun: boolean;
}

/**
 * The MCP server of each registry (contract §6.3, MCP 2025-11-25 basic/transports): stateless, so each message is a request of its
 * own, with a server of the SDK for it alone. Who calls, and what they see, was decided before, as for the REST API.
 */
@Injectable()
export class McpEndpoint {
  private readonly info = {
    name: 'registry-server',
    title: 'MCP registry',
    version: versionReport({ commit: undefined, date: undefined }).version,
  };
  private readonly tools: ReadonlyMap<string, Tool>;
  private readonly descriptions: object[];
  private readonly validators = new Map<string, ValidateFunction>();
  private readonly results = new WeakMap<object, CallToolResult>();

  constructor(
    tools: Tools,
    private readonly views: RegistryViews,
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
   * @param message one of JSON-RPC, parsed.
   * @throws ApiError 400 for what is no message, and what the REST API would refuse with, unless it is a tool error.
   */
  async answer(access: RegistryAccess, request: LoadedRequest, message: unknown): Promise<McpAnswer> {
    // The specification has none since 2025-06-18; here it would be many requests for one.
    if (Array.isArray(message))
      throw new ApiError('invalid_body', 'The body is one message: batches are not taken');
    const calls: Calls = { refusals: [], hasRun: false };
    // Loaded at the first message: with the SDK and zod, for those who use it.
    const { handleMessage } = await import('./message-handler.js');
    const answer = await handleMessage(
      {
        info: this.info,
        instructions: `The MCP servers and skills of the registry "${access.registryName}", as far as the caller may see them.`,
        tools: this.descriptions,
        call: (name, args) => this.callNamed(name, args, access, request, calls),
      },
      asWebRequest(request),
      message,
    );
    if (calls.refusals.length > 0) throw calls.refusals[0];
    if (answer.status >= 400) throw new ApiError('invalid_body', sentenceIn(answer.text));
    // Tools say by their statements that the caller may still enter. Of all other messages nothing else asks.
    if (access.remembered && !calls.hasRun) await this.views.refresh(access);
    return answer;
  }

  private async callNamed(
    name: string,
    args: Readonly<Record<string, unknown>>,
    access: RegistryAccess,
    request: LoadedRequest,
    calls: Calls,
  ): Promise<CallToolResult | undefined> {
    const tool = this.tools.get(name);
    if (!tool) return undefined;
    try {
      const result = await this.call(tool, access, request, args);
      calls.hasRun = true;
      return result;
    } catch (error) {
      calls.refusals.push(error);
      throw error;
    }
  }

  private async call(
    tool: Tool,
    access: RegistryAccess,
    request: LoadedRequest,
    args: Readonly<Record<string, unknown>>,
  ): Promise<CallToolResult> {
    const problem = this.problemOf(tool, args);
    if (problem !== undefined)
      return this.refused(access, request, new ApiError('invalid_parameter', problem));
    const entry = tool.entryOf?.(args as never);
    if (entry) request.readEntry = entry;
    try {
      return this.resultOf(await tool.run(access, args as never));
    } catch (error) {
      return this.refused(access, request, toApiError(error), error);
    }
  }

  // A caller who has lost access meanwhile is told that, and not what is wrong with the call beside it.
  private async refused(
    access: RegistryAccess,
    request: LoadedRequest,
    error: ApiError,
    thrown: unknown = error,
  ): Promise<CallToolResult> {
    if (access.remembered) await this.views.refresh(access);
    if (!isToolError(error)) throw thrown;
    request.refusedInAnswer = error.code;
    return toolError(error);
  }

  private resultOf(structuredContent: object): CallToolResult {
    const known = this.results.get(structuredContent);
    if (known) return known;
    const content = [{ type: 'text' as const, text: JSON.stringify(structuredContent) }];
    const result: CallToolResult = { content, structuredContent: { ...structuredContent } };
    this.results.set(structuredContent, result);
    return result;
  }

  private problemOf({ name, inputSchema }: Tool, args: unknown): string | undefined {
    const validate = this.validators.get(name) ?? new Ajv({ strict: false }).compile(inputSchema);
    this.validators.set(name, validate);
    if (validate(args)) return undefined;
    const [error] = validate.errors ?? [];
    return `arguments${error?.instancePath.replaceAll('/', '.') ?? ''} ${error?.message ?? 'are not valid'}`;
  }
}

// With what the transport looks at. It would refuse clients that do not accept an event stream; none is ever sent.
function asWebRequest({ headers }: LoadedRequest): Request {
  const version = headers['mcp-protocol-version'];
  return new Request('http://localhost/', {
    method: 'POST',
    headers: {
      Accept: 'application/json, text/event-stream',
      'Content-Type': 'application/json',
      ...(typeof version === 'string' ? { 'Mcp-Protocol-Version': version } : {}),
    },
  });
}

function sentenceIn(text: string): string {
  try {
    const message = member(member(JSON.parse(text), 'error'), 'message');
    if (typeof message === 'string') return message;
  } catch {
    // It is none of the errors of JSON-RPC.
  }
  return 'The body is not a message of JSON-RPC';
}
