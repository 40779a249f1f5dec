import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { callTool } from '../api/mcp.js';
import { useAnswer } from '../api/use-answer.js';
import { Code } from '../ui/code.js';
import { Plain } from '../ui/plain.js';
import { wordFor } from '../api/word-for.js';

interface Connection {
  readonly client: string;
  /** What stands in that client's own configuration. */
  readonly configuration?: object;
  readonly omitted?: { readonly explanation: string };
}

const NAMES: Readonly<Record<string, string>> = {
  vscode: 'VS Code',
  copilot: 'Copilot',
  'claude-code': 'Claude Code',
  cursor: 'Cursor',
};

interface Props {
  readonly registry: string;
  readonly name: string;
  readonly version: string;
}

/** What to write into a client's configuration, in that client's own words. */
export function Connect({ registry, name, version }: Props): JSX.Element {
  const asked = useAnswer(JSON.stringify([registry, name, version]), async (signal) => {
    const { clients } = await callTool<{ clients: readonly Connection[] }>(
      registry,
      'how_to_connect',
      { name, version },
      signal,
    );
    return clients;
  });
  const [chosen, setChosen] = useState<string>();
  const connections = asked.value ?? [];
  const shown = connections.find(({ client }) => client === chosen) ?? connections[0];
  // Without it the page is as good: what there is to install stands below.
  if (asked.failure || !shown) return <></>;
  // What stands in the way of all clients is said once.
  const isForNone = connections.every(({ configuration }) => !configuration);
  const clientName = wordFor(NAMES, shown.client) ?? shown.client;
  return (
    <section class="connect">
      <h2>Connect</h2>
      {!isForNone && (
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
                <Plain text={wordFor(NAMES, client) ?? client} />
              </span>
            </label>
          ))}
        </div>
      )}
      {shown.configuration ? (
        <Code text={JSON.stringify(shown.configuration, null, 2)} label={`Configuration of ${clientName}`} />
      ) : (
        <p class="muted below">
          Nothing can be written into the configuration of{' '}
          {isForNone ? 'a client' : <Plain text={clientName} />}:{' '}
          <Plain text={shown.omitted?.explanation ?? ''} class="break" />
        </p>
      )}
    </section>
  );
}
