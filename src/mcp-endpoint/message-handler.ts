import { randomUUID } from 'node:crypto';
import {
  createMcpHandler,
  type Implementation,
  isLegacyRequest,
  type JsonSchemaValidator,
  type jsonSchemaValidator,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { LRUCache } from 'lru-cache';
import { member } from '../json/json-values.js';

/** The response to a message in UTF-8; empty for a notification. */
export interface McpAnswer {
  readonly status: number;
  readonly bytes: Buffer;
  /** Whether the text is for an MCP client of 2026-07-28, which reads errors of any status as JSON-RPC. */
  readonly isModern: boolean;
}

/** A file of a skill: `text` or `blob` is JSON text in UTF-8. */
export interface SkillFile {
  readonly uri: string;
  readonly mimeType: string;
  readonly kind: 'text' | 'blob';
  readonly content: Buffer;
}

/** A skill as the extension lists it. */
export interface Skill {
  readonly uri: string;
  readonly frontmatter: { readonly name: string; readonly description: string };
  readonly resources: readonly { readonly uri: string; readonly digest: string; readonly size: number }[];
}

/** The methods of the extension `io.modelcontextprotocol/skills`. */
export interface SkillMethods {
  list(cursor: string | undefined): Promise<{ skills: readonly Skill[]; nextCursor?: string }>;
  /** @returns null if the caller sees no such skill. */
  get(uri: string): Promise<Skill | null>;
  /** @returns null if the caller sees no such file. */
  read(uri: string): Promise<SkillFile | null>;
}

/** The settings of the SDK server for one message. */
export interface MessageServer {
  readonly info: Implementation;
  readonly instructions: string;
  readonly tools: readonly { readonly name: string }[];
  /** @returns the result as JSON text in UTF-8, without the braces: `"content":[…],"structuredContent":{…}`. */
  call(tool: string, args: Readonly<Record<string, unknown>>): Promise<Buffer>;
  readonly skills: SkillMethods;
}

/** The headers that the protocol defines. */
export type ProtocolHeaders = Readonly<Record<string, string>>;

/** Clients send schemas only for elicitation, which this server does not use. */
const NO_SCHEMAS: jsonSchemaValidator = {
  getValidator: <T>(): JsonSchemaValidator<T> => {
    throw new Error('Schemas sent by clients are not supported');
  },
};

/** Stand for texts in the SDK's answers. They are random, so that no message can contain them. */
const LONG_TEXT = randomUUID();
const CALL_ID = randomUUID();
const PLACEHOLDER = { content: [{ type: 'text' as const, text: LONG_TEXT }] };
const PLACEHOLDER_TEXT = JSON.stringify(PLACEHOLDER).slice(1, -1);

/** Accepts any parameters: the handlers check them. */
const ANY_PARAMETERS = {
  '~standard': { version: 1, vendor: 'registry-server', validate: (value: unknown) => ({ value }) },
} as const;

const SKILLS = 'io.modelcontextprotocol/skills';
/** contract §13: other callers may see other skills. */
const UNCACHED = { ttlMs: 0, cacheScope: 'private' };

/** One message: its settings, and the file that its placeholder stands for. */
class Message {
  private file: Buffer | undefined;

  constructor(private readonly settings: MessageServer) {}

  // Uses the low-level server: McpServer would build the schemas of all tools for each request.
  server(isModern: boolean): Server {
    const { info, instructions, tools, skills } = this.settings;
    const server = new Server(info, {
      capabilities: { tools: {}, resources: {}, extensions: { [SKILLS]: {} } },
      instructions,
      jsonSchemaValidator: NO_SCHEMAS,
    });
    server.setRequestHandler('tools/list', () => ({ tools: tools as never }));
    server.setRequestHandler('tools/call', ({ params: { name } }) => {
      if (!tools.some((tool) => tool.name === name))
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Unknown tool');
      return PLACEHOLDER;
    });
    // Protocols before 2026-07-28 know no cache hints.
    const uncached = isModern ? UNCACHED : {};
    server.setRequestHandler('skills/list', { params: ANY_PARAMETERS }, async (params) => ({
      ...(await skills.list(textIn(params, 'cursor'))),
      ...uncached,
    }));
    server.setRequestHandler('skills/get', { params: ANY_PARAMETERS }, async (params) => {
      const skill = await skills.get(textIn(params, 'uri') ?? '');
      if (!skill) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no such skill');
      return { skill, ...uncached };
    });
    server.setRequestHandler('resources/list', async ({ params }) => {
      const { skills: listed, ...page } = await skills.list(params?.cursor);
      return { resources: listed.map(resourceOf), ...page, ...uncached };
    });
    server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }));
    server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
      const file = await skills.read(uri);
      if (!file) throw new ResourceNotFoundError(uri);
      this.file = file.content;
      const { mimeType, kind } = file;
      const contents = kind === 'text' ? { text: LONG_TEXT } : { blob: LONG_TEXT };
      return { contents: [{ uri: file.uri, mimeType, ...contents }], ...uncached };
    });
    return server;
  }

  async answer(response: Response): Promise<Answer> {
    const { status } = response;
    const text = await response.text();
    if (this.file === undefined) return { status, bytes: Buffer.from(text) };
    const [before, after] = halves(text, JSON.stringify(LONG_TEXT));
    return { status, bytes: Buffer.concat([Buffer.from(before), this.file, Buffer.from(after)]) };
  }
}

/** Passed to the SDK as `authInfo`, which it hands to the factory unread: callers are identified before. */
const messages = new WeakMap<object, Message>();

/** Protocol 2026-07-28. Nothing changes during a request, so there are no subscriptions: they would hold streams open. */
const modern = createMcpHandler(
  ({ authInfo = NOBODY }) => {
    const message = messages.get(authInfo);
    if (!message) throw new Error('An MCP message without settings');
    return message.server(true);
  },
  { legacy: 'reject', maxSubscriptions: 0 },
);

const NOBODY = { token: '', clientId: '', scopes: [] };

type Answer = Omit<McpAnswer, 'isModern'>;

/** A request to call a tool that exists. */
interface ToolCall {
  readonly id: string | number;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** The same request for any id, without arguments. */
  readonly framed: object;
}

/** The SDK's answer to a tool call, around its result and its id. */
interface Frame {
  readonly isModern: boolean;
  readonly parts: readonly [Buffer, Buffer, Buffer];
}

const MAX_FRAMES = 500;
const MAX_FRAME_KEY = 2_048;
/**
 * By protocol headers and all of the request but its id and arguments, on which a frame does not depend: the SDK takes longer to
 * answer a tool call than a page takes to read. Frames contain nothing of a caller or registry.
 */
const frames = new LRUCache<string, Frame>({ max: MAX_FRAMES });

/** Handles a JSON-RPC message with the SDK, in the protocol version that it speaks. */
export async function handleMessage(
  settings: MessageServer,
  headers: ProtocolHeaders,
  parsedBody: unknown,
): Promise<McpAnswer> {
  const call = toolCallIn(parsedBody, settings);
  const frame = call && (await frameOf(call, settings, headers));
  if (!frame) return handleBySdk(settings, headers, parsedBody);
  const [before, between, after] = frame.parts;
  const result = await settings.call(call.tool, call.args);
  const id = Buffer.from(JSON.stringify(call.id));
  return {
    status: 200,
    bytes: Buffer.concat([before, result, between, id, after]),
    isModern: frame.isModern,
  };
}

function toolCallIn(message: unknown, { tools }: MessageServer): ToolCall | null {
  const [id, params] = [member(message, 'id'), member(message, 'params')];
  const [tool, args = {}] = [member(params, 'name'), member(params, 'arguments')];
  if (member(message, 'method') !== 'tools/call' || !tools.some(({ name }) => name === tool)) return null;
  if (typeof id !== 'string' && !Number.isSafeInteger(id)) return null;
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return null;
  const framed = { ...(message as object), id: CALL_ID, params: { ...(params as object), arguments: {} } };
  return { id: id as string | number, tool: tool as string, args: args as ToolCall['args'], framed };
}

/** Returns null if the SDK refuses the call. */
async function frameOf(
  { framed }: ToolCall,
  settings: MessageServer,
  headers: ProtocolHeaders,
): Promise<Frame | null> {
  const key = JSON.stringify([headers, framed]);
  const known = frames.get(key);
  if (known) return known;
  const { status, bytes, isModern } = await handleBySdk(settings, headers, framed);
  const text = bytes.toString();
  if (status !== 200 || !text.includes(LONG_TEXT)) return null;
  const [before, rest] = halves(text, PLACEHOLDER_TEXT);
  const [between, after] = halves(rest, JSON.stringify(CALL_ID));
  const frame: Frame = { isModern, parts: [Buffer.from(before), Buffer.from(between), Buffer.from(after)] };
  if (key.length <= MAX_FRAME_KEY) frames.set(key, frame);
  return frame;
}

/** Splits the SDK's answer at a placeholder. */
function halves(text: string, placeholder: string): [string, string] {
  const [before, after, ...more] = text.split(placeholder);
  if (before === undefined || after === undefined || more.length > 0)
    throw new Error('The SDK changed a result');
  return [before, after];
}

async function handleBySdk(
  settings: MessageServer,
  headers: ProtocolHeaders,
  parsedBody: unknown,
): Promise<McpAnswer> {
  const message = new Message(settings);
  const request = webRequest(headers);
  if (await isLegacyRequest(request, parsedBody))
    return { ...(await handleLegacy(message, request, parsedBody)), isModern: false };
  const authInfo = { ...NOBODY };
  messages.set(authInfo, message);
  const answer = await message.answer(await modern.fetch(request, { authInfo, parsedBody }));
  return { ...answer, isModern: typeof member(parsedBody, 'method') === 'string' };
}

// The transport requires an Accept header that includes event streams, although it never sends one.
function webRequest(headers: ProtocolHeaders): Request {
  return new Request('http://localhost/', {
    method: 'POST',
    headers: {
      Accept: 'application/json, text/event-stream',
      'Content-Type': 'application/json',
      ...headers,
    },
  });
}

// Protocols up to 2025-11-25. The handler above would answer these with event streams. The server is not closed, because
// it holds nothing after the answer, and closing takes as long as reading the message.
async function handleLegacy(message: Message, request: Request, parsedBody: unknown): Promise<Answer> {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await message.server(false).connect(transport);
  return message.answer(await transport.handleRequest(request, { parsedBody }));
}

/** The SKILL.md of a skill, for clients that do not know the extension. */
function resourceOf({ uri, frontmatter: { name, description } }: Skill) {
  return { uri, name, description, mimeType: 'text/markdown' };
}

/** @throws ProtocolError for a parameter of another type. */
function textIn(params: unknown, name: string): string | undefined {
  const value = member(params, name);
  if (value === undefined || typeof value === 'string') return value;
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, `${name} must be a string`);
}
