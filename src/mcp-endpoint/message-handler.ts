import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  type Implementation,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';
import type { JsonSchemaValidator, jsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/types.js';

/** The response to a message; `text` is empty for a notification. */
export interface McpAnswer {
  readonly status: number;
  readonly text: string;
}

/** The settings of the SDK server for one message. */
export interface MessageServer {
  readonly info: Implementation;
  readonly instructions: string;
  readonly tools: object[];
  /** @returns undefined if there is no such tool. */
  call(name: string, args: Readonly<Record<string, unknown>>): Promise<CallToolResult | undefined>;
}

/** Clients send schemas only for elicitation, which this server does not use. */
const NO_SCHEMAS: jsonSchemaValidator = {
  getValidator: <T>(): JsonSchemaValidator<T> => {
    throw new Error('Schemas sent by clients are not supported');
  },
};

/** Handles a JSON-RPC message with the SDK. */
export async function handleMessage(
  { info, instructions, tools, call }: MessageServer,
  request: Request,
  message: unknown,
): Promise<McpAnswer> {
  // Uses the low-level server: McpServer would build the zod schemas of all tools for each request.
  const server = new Server(info, {
    capabilities: { tools: {} },
    instructions,
    jsonSchemaValidator: NO_SCHEMAS,
  });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools as never }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const result = await call(params.name, params.arguments ?? {});
    if (!result) throw new McpError(ErrorCode.InvalidParams, 'Unknown tool');
    return result;
  });
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  try {
    const response = await transport.handleRequest(request, { parsedBody: message });
    return { status: response.status, text: await response.text() };
  } finally {
    await server.close();
  }
}
