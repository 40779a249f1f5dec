import { randomUUID } from 'node:crypto';
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

/** The response to a message in UTF-8; empty for a notification. */
export interface McpAnswer {
  readonly status: number;
  readonly bytes: Buffer;
  /** Whether the text is for an MCP client of 2026-07-28, which reads errors of any status as JSON-RPC. */
  readonly isModern: boolean;
}

/** A tool's result, or its JSON text in UTF-8 without the braces: `"content":[…],"structuredContent":{…}`. */
export type ToolResult = CallToolResult | Buffer;

/** The settings of the SDK server for one message. */
export interface MessageServer {
  readonly info: Implementation;
  readonly instructions: string;
  readonly tools: object[];
  /** @returns undefined if there is no such tool. */
  call(name: string, args: Readonly<Record<string, unknown>>): Promise<ToolResult | undefined>;
}

/** Clients send schemas only for elicitation, which this server does not use. */
const NO_SCHEMAS: jsonSchemaValidator = {
  getValidator: <T>(): JsonSchemaValidator<T> => {
    throw new Error('Schemas sent by clients are not supported');
  },
};

/** Stands for a result in the SDK's answer. It is random, so that no message can contain it. */
const PLACEHOLDER = { content: [{ type: 'text' as const, text: randomUUID() }] };
const PLACEHOLDER_TEXT = JSON.stringify(PLACEHOLDER).slice(1, -1);

/** One message: its settings, and the result that the placeholder stands for. */
class Message {
  private result: Buffer | undefined;

  constructor(private readonly settings: MessageServer) {}

  // Uses the low-level server: McpServer would build the schemas of all tools for each request.
  server(): Server {
    const { info, instructions, tools, call } = this.settings;
    const server = new Server(info, {
      capabilities: { tools: {} },
      instructions,
      jsonSchemaValidator: NO_SCHEMAS,
    });
    server.setRequestHandler('tools/list', () => ({ tools: tools as never }));
    server.setRequestHandler('tools/call', async ({ params }) => {
      const result = await call(params.name, params.arguments ?? {});
      if (!result) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Unknown tool');
      if (!Buffer.isBuffer(result)) return result;
      // The SDK would parse and write a long result for each message.
      this.result = result;
      return PLACEHOLDER;
    });
    return server;
  }

  async answer(response: Response): Promise<Answer> {
    const { status } = response;
    const text = await response.text();
    if (this.result === undefined) return { status, bytes: Buffer.from(text) };
    const [before, after, ...more] = text.split(PLACEHOLDER_TEXT);
    if (before === undefined || after === undefined || more.length > 0)
      throw new Error('The SDK changed a result');
    return { status, bytes: Buffer.concat([Buffer.from(before), this.result, Buffer.from(after)]) };
  }
}

/** Passed to the SDK as `authInfo`, which it hands to the factory unread: callers are identified before. */
const messages = new WeakMap<object, Message>();

/** Protocol 2026-07-28. Nothing changes during a request, so there are no subscriptions: they would hold streams open. */
const modern = createMcpHandler(
  ({ authInfo = NOBODY }) => {
    const message = messages.get(authInfo);
    if (!message) throw new Error('An MCP message without settings');
    return message.server();
  },
  { legacy: 'reject', maxSubscriptions: 0 },
);

const NOBODY = { token: '', clientId: '', scopes: [] };

type Answer = Omit<McpAnswer, 'isModern'>;

/** Handles a JSON-RPC message with the SDK, in the protocol version that it speaks. */
export async function handleMessage(
  settings: MessageServer,
  request: Request,
  parsedBody: unknown,
): Promise<McpAnswer> {
  const message = new Message(settings);
  if (await isLegacyRequest(request, parsedBody))
    return { ...(await handleLegacy(message, request, parsedBody)), isModern: false };
  const authInfo = { ...NOBODY };
  messages.set(authInfo, message);
  const answer = await message.answer(await modern.fetch(request, { authInfo, parsedBody }));
  return { ...answer, isModern: typeof member(parsedBody, 'method') === 'string' };
}

// Protocols up to 2025-11-25. The handler above would answer these with event streams. The server is not closed, because
// it holds nothing after the answer, and closing takes as long as reading the message.
async function handleLegacy(message: Message, request: Request, parsedBody: unknown): Promise<Answer> {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await message.server().connect(transport);
  return message.answer(await transport.handleRequest(request, { parsedBody }));
}
