import {
  type CallToolResult,
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
import { member } from '../json/json-values.js';

/** The response to a message. */
export interface McpAnswer {
  readonly status: number;
  /** Empty for a notification. */
  readonly text: string;
  /** Whether the text is for an MCP client of 2026-07-28, which reads errors of any status as JSON-RPC. */
  readonly isModern: boolean;
}

export type SkillFile = { readonly uri: string; readonly mimeType: string } & (
  | { readonly text: string }
  | { readonly blob: string }
);

/** A skill as the extension lists it. */
export interface Skill {
  readonly uri: string;
  readonly frontmatter: { readonly name: string; readonly description: string };
  readonly resources: readonly { readonly uri: string; readonly digest: string; readonly size: number }[];
}

/** The settings of the SDK server for one message, and its access to the registry. */
interface MessageServer {
  readonly info: Implementation;
  readonly instructions: string;
  readonly tools: readonly { readonly name: string }[];
  callTool(name: string, args: Readonly<Record<string, unknown>>): Promise<CallToolResult>;
  listSkills(cursor: string | undefined): Promise<{ skills: Skill[]; nextCursor?: string }>;
  /** @returns null if the caller sees no such skill. */
  getSkill(uri: string): Promise<Skill | null>;
  /** @returns null if the caller sees no such file. */
  readFile(uri: string): Promise<SkillFile | null>;
}

export type ProtocolHeaders = Readonly<Record<string, string>>;

/** Clients send schemas only for elicitation, which this server does not use. */
const NO_SCHEMAS: jsonSchemaValidator = {
  getValidator: <T>(): JsonSchemaValidator<T> => {
    throw new Error('Schemas sent by clients are not supported');
  },
};

/** Accepts any parameters: the handlers check them. */
const ANY_PARAMETERS = {
  '~standard': { version: 1, vendor: 'registry-server', validate: (value: unknown) => ({ value }) },
} as const;

const SKILLS = 'io.modelcontextprotocol/skills';
/** reference/mcp: other callers may see other skills. */
const UNCACHED = { ttlMs: 0, cacheScope: 'private' };

/** Handles a JSON-RPC message with the SDK, in the protocol version that it speaks. */
export async function handleMessage(
  settings: MessageServer,
  headers: ProtocolHeaders,
  parsedBody: unknown,
): Promise<McpAnswer> {
  const request = webRequest(headers);
  if (await isLegacyRequest(request, parsedBody)) {
    // Protocols up to 2025-11-25. The handler below would respond to these with event streams.
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
    await serverOf(settings, false).connect(transport);
    const response = await transport.handleRequest(request, { parsedBody });
    return { status: response.status, text: await response.text(), isModern: false };
  }
  // Nothing changes during a request, so there are no subscriptions: they would hold streams open.
  const handler = createMcpHandler(() => serverOf(settings, true), { legacy: 'reject', maxSubscriptions: 0 });
  const response = await handler.fetch(request, { parsedBody });
  const isModern = typeof member(parsedBody, 'method') === 'string';
  return { status: response.status, text: await response.text(), isModern };
}

// Uses the low-level server: McpServer would build the schemas of all tools for each request.
function serverOf(settings: MessageServer, isModern: boolean): Server {
  const { info, instructions, tools } = settings;
  const server = new Server(info, {
    capabilities: { tools: {}, resources: {}, extensions: { [SKILLS]: {} } },
    instructions,
    jsonSchemaValidator: NO_SCHEMAS,
  });
  server.setRequestHandler('tools/list', () => ({ tools: tools as never }));
  server.setRequestHandler('tools/call', ({ params: { name, arguments: args = {} } }) => {
    if (!tools.some((tool) => tool.name === name))
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Unknown tool');
    return settings.callTool(name, args);
  });
  // Protocols before 2026-07-28 have no cache hints.
  const uncached = isModern ? UNCACHED : {};
  server.setRequestHandler('skills/list', { params: ANY_PARAMETERS }, async (params) => ({
    ...(await settings.listSkills(textIn(params, 'cursor'))),
    ...uncached,
  }));
  server.setRequestHandler('skills/get', { params: ANY_PARAMETERS }, async (params) => {
    const skill = await settings.getSkill(textIn(params, 'uri') ?? '');
    if (!skill) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no such skill');
    return { skill, ...uncached };
  });
  server.setRequestHandler('resources/list', async ({ params }) => {
    const { skills: listed, ...page } = await settings.listSkills(params?.cursor);
    return { resources: listed.map(resourceOf), ...page, ...uncached };
  });
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }));
  server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
    const file = await settings.readFile(uri);
    if (!file) throw new ResourceNotFoundError(uri);
    return { contents: [file], ...uncached };
  });
  return server;
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

/** The SKILL.md of a skill, for clients that do not know the extension. */
function resourceOf({ uri, frontmatter: { name, description } }: Skill) {
  return { uri, name, description, mimeType: 'text/markdown' };
}

/** @throws ProtocolError for a parameter of the wrong type. */
function textIn(params: unknown, name: string): string | undefined {
  const value = member(params, name);
  if (value === undefined || typeof value === 'string') return value;
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, `${name} must be a string`);
}
