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

/** An answer to what was posted; a notification has none. */
export interface McpAnswer {
  readonly status: number;
  readonly text: string;
}

/** What a server of the SDK is made of, for one message. */
export interface MessageServer {
  readonly info: Implementation;
  readonly instructions: string;
  readonly tools: object[];
  /** @returns undefined if there is no such tool. */
  call(name: string, args: Readonly<Record<string, unknown>>): Promise<CallToolResult | undefined>;
}

/** Schemas that clients send are for elicitation, which this server does not ask for. */
const NO_SCHEMAS: jsonSchemaValidator = {
  getValidator: <T>(): JsonSchemaValidator<T> => {
    throw new Error('This server validates nothing that a client sends by a schema of its own');
  },
};

/** What the SDK answers to a message of JSON-RPC. */
export async function handleMessage(
  { info, instructions, tools, call }: MessageServer,
  request: Request,
  message: unknown,
): Promise<McpAnswer> {
  // The low-level server: a tool of the other one is made of schemas of zod, anew for each request.
  const server = new Server(info, {
    capabilities: { tools: {} },
    instructions,
    jsonSchemaValidator: NO_SCHEMAS,
  });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools as never }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const result = await call(params.name, params.arguments ?? {});
    if (!result) throw new McpError(ErrorCode.InvalidParams, 'There is no such tool');
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
