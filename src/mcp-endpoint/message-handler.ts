import {
  type CallToolResult,
  createMcpHandler,
  type Implementation,
  isLegacyRequest,
  type JsonSchemaValidator,
  type jsonSchemaValidator,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { member } from '../json/json-values.js';

/** The response to a message; `text` is empty for a notification. */
export interface McpAnswer {
  readonly status: number;
  readonly text: string;
  /** Whether the text is for an MCP client of 2026-07-28, which reads errors of any status as JSON-RPC. */
  readonly isModern: boolean;
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

// Uses the low-level server: McpServer would build the schemas of all tools for each request.
function serverFor({ info, instructions, tools, call }: MessageServer): Server {
  const server = new Server(info, {
    capabilities: { tools: {} },
    instructions,
    jsonSchemaValidator: NO_SCHEMAS,
  });
  server.setRequestHandler('tools/list', () => ({ tools: tools as never }));
  server.setRequestHandler('tools/call', async ({ params }) => {
    const result = await call(params.name, params.arguments ?? {});
    if (!result) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Unknown tool');
    return result;
  });
  return server;
}

/** Passed to the SDK as `authInfo`, which it hands to the factory unread: callers are identified before. */
const settingsOf = new WeakMap<object, MessageServer>();

/** Protocol 2026-07-28. Nothing changes during a request, so there are no subscriptions: they would hold streams open. */
const modern = createMcpHandler(
  ({ authInfo = NOBODY }) => {
    const settings = settingsOf.get(authInfo);
    if (!settings) throw new Error('An MCP message without settings');
    return serverFor(settings);
  },
  { legacy: 'reject', maxSubscriptions: 0 },
);

const NOBODY = { token: '', clientId: '', scopes: [] };

/** Handles a JSON-RPC message with the SDK, in the protocol version that it speaks. */
export async function handleMessage(
  settings: MessageServer,
  request: Request,
  message: unknown,
): Promise<McpAnswer> {
  if (await isLegacyRequest(request, message))
    return { ...(await handleLegacy(settings, request, message)), isModern: false };
  const isModern = typeof member(message, 'method') === 'string';
  return { ...(await handleModern(settings, request, message)), isModern };
}

type Answer = Omit<McpAnswer, 'isModern'>;

async function handleModern(settings: MessageServer, request: Request, parsedBody: unknown): Promise<Answer> {
  const authInfo = { ...NOBODY };
  settingsOf.set(authInfo, settings);
  return answerOf(await modern.fetch(request, { authInfo, parsedBody }));
}

// Protocols up to 2025-11-25. The handler above would answer these with event streams.
async function handleLegacy(settings: MessageServer, request: Request, parsedBody: unknown): Promise<Answer> {
  const server = serverFor(settings);
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  try {
    return await answerOf(await transport.handleRequest(request, { parsedBody }));
  } finally {
    await server.close();
  }
}

async function answerOf(response: Response): Promise<Answer> {
  return { status: response.status, text: await response.text() };
}
