import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  Client as ModernClient,
  type ClientOptions,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client';
import type { Reply, Sender } from './http.js';

/** The SDK's client, connected. */
export async function mcpClient(url: string, token?: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return client;
}

/** The client of the SDK's second generation, connected. */
export async function modernClient(
  url: string,
  token: string | undefined,
  versionNegotiation: ClientOptions['versionNegotiation'],
): Promise<ModernClient> {
  const client = new ModernClient(
    { name: 'test', version: '1.0.0' },
    versionNegotiation === undefined ? {} : { versionNegotiation },
  );
  const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  await client.connect(new ModernTransport(new URL(url), { requestInit: { headers } }));
  return client;
}

const PREFIX = 'io.modelcontextprotocol';

/** A request of protocol 2026-07-28 with its headers. */
export function modernRequest(method: string, params: object = {}, version = '2026-07-28') {
  const name = (params as { name?: string }).name;
  return {
    headers: {
      'MCP-Protocol-Version': version,
      'Mcp-Method': method,
      ...(name === undefined ? {} : { 'Mcp-Name': name }),
    },
    body: {
      jsonrpc: '2.0',
      id: 1,
      method,
      params: {
        ...params,
        _meta: {
          [`${PREFIX}/protocolVersion`]: version,
          [`${PREFIX}/clientInfo`]: { name: 'test', version: '1.0.0' },
          [`${PREFIX}/clientCapabilities`]: {},
        },
      },
    },
  };
}

export function toolCall(name: string, args: object = {}): object {
  return { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
}

/** Calls a tool by plain HTTP, without the SDK. */
export function callTool(sender: Sender, registry: string, name: string, args?: object): Promise<Reply> {
  return sender.post(`/registry/${registry}/mcp`, toolCall(name, args));
}

interface ToolAnswer {
  result: { isError?: boolean; structuredContent?: never; content: { type: string; text: string }[] };
}

/** A tool's result as JSON; `entry_not_found: …` for a failed call. */
export function toolResult(reply: Pick<Reply, 'json'>): never {
  const { isError, structuredContent, content } = (reply.json as ToolAnswer).result;
  return isError ? (content[0]?.text as never) : (structuredContent as never);
}
