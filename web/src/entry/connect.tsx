import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { API_BASE, Failure, failureOf, send } from '../api/client.js';
import { useQuery } from '../ui/query.js';
import { Code, UntrustedText } from '../ui/untrusted-text.js';

/** An environment variable that the user sets before the client starts, or in a table of its configuration. */
interface Setting {
  readonly variable: string;
  readonly table?: string;
  readonly description?: string;
}

interface Connection {
  readonly client: string;
  /** Content for the client's configuration file. */
  readonly configuration?: { readonly 'x-environment'?: readonly Setting[] };
  /** The configuration as text, if it is not JSON. */
  readonly toml?: string;
  readonly omitted?: { readonly explanation: string };
}

const CLIENT_NAMES = new Map(
  Object.entries({
    vscode: 'VS Code',
    copilot: 'Copilot',
    'claude-code': 'Claude Code',
    cursor: 'Cursor',
    codex: 'Codex',
  }),
);

interface Props {
  readonly registry: string;
  readonly name: string;
  readonly version: string;
}

/** Configuration snippets that connect a client to the server. */
export function Connect({ registry, name, version }: Props): JSX.Element {
  const query = useQuery(JSON.stringify([registry, name, version]), async (signal) => {
    const { clients } = await callTool<{ clients: readonly Connection[] }>(
      registry,
      'how_to_connect',
      { name, version },
      signal,
    );
    return clients;
  });
  const [chosen, setChosen] = useState<string>();
  const connections = query.value ?? [];
  const shown = connections.find(({ client }) => client === chosen) ?? connections[0];
  // Snippets are optional: the page still shows remotes and packages.
  if (query.failure || !shown) return <></>;
  // If no client is supported, show the reason once.
  const isUnsupported = connections.every(({ configuration }) => !configuration);
  const clientName = CLIENT_NAMES.get(shown.client) ?? shown.client;
  return (
    <section class="connect">
      <h2>Connect</h2>
      {!isUnsupported && (
        <div class="segments" role="radiogroup" aria-label="Client">
          {connections.map(({ client }) => (
            <label key={client}>
              <input
                type="radio"
                name="client"
                checked={client === shown.client}
                onChange={() => setChosen(client)}
              />
              <span>
                <UntrustedText text={CLIENT_NAMES.get(client) ?? client} />
              </span>
            </label>
          ))}
        </div>
      )}
      {shown.configuration ? (
        <>
          <Settings settings={shown.configuration['x-environment'] ?? []} />
          <Code
            text={shown.toml ?? JSON.stringify(shown.configuration, null, 2)}
            label={`Configuration for ${clientName}`}
            isWhole
          />
        </>
      ) : (
        <p class="muted below">
          No configuration available for {isUnsupported ? 'any client' : <UntrustedText text={clientName} />}:{' '}
          <UntrustedText text={shown.omitted?.explanation ?? ''} class="break" />
        </p>
      )}
    </section>
  );
}

function Settings({ settings }: { readonly settings: readonly Setting[] }): JSX.Element {
  if (settings.length === 0) return <></>;
  return (
    <>
      <p>Set these variables first:</p>
      <ul>
        {settings.map(({ variable, table, description }) => (
          <li key={variable}>
            <code>
              <UntrustedText text={variable} class="break" />
            </code>
            {table !== undefined && (
              <>
                {' in '}
                <code>
                  <UntrustedText text={`[${table}]`} class="break" />
                </code>
              </>
            )}
            {description !== undefined && (
              <>
                {': '}
                <UntrustedText text={description} class="break" />
              </>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

interface ToolAnswer<T> {
  readonly result?: {
    readonly isError?: boolean;
    readonly structuredContent?: T;
    readonly content?: readonly { readonly text?: string }[];
  };
  readonly error?: { readonly message?: string };
}

/** Calls a tool of the registry's MCP endpoint. The endpoint is stateless, so one request is enough. */
async function callTool<T>(
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
  const sentence = error?.message ?? result?.content?.[0]?.text ?? 'The tool returned no result';
  throw new Failure(sentence, 'tool_failed', response.status, undefined, []);
}
