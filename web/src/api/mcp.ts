import { API_BASE, send } from './client.js';
import { Failure, failureOf } from './failure.js';

interface ToolAnswer<T> {
  readonly result?: {
    readonly isError?: boolean;
    readonly structuredContent?: T;
    readonly content?: readonly { readonly text?: string }[];
  };
  readonly error?: { readonly message?: string };
}

/** Calls a tool of the MCP server that each registry is. The endpoint keeps no session, so this is one request. */
export async function callTool<T>(
  registry: string,
  tool: string,
  args: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<T> {
  const response = await send(
    new Request(`${API_BASE}/registry/${encodeURIComponent(registry)}/mcp`, {
      method: 'POST',
      signal,
      headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: tool, arguments: args },
      }),
    }),
  );
  const body: unknown = await response.json().catch(() => undefined);
  if (!response.ok) throw failureOf(response.status, body);
  const { result, error } = (body ?? {}) as ToolAnswer<T>;
  if (result?.structuredContent !== undefined && result.isError !== true) return result.structuredContent;
  const sentence = error?.message ?? result?.content?.[0]?.text ?? 'The tool has not answered';
  throw new Failure(sentence, 'tool_failed', response.status, undefined, []);
}
