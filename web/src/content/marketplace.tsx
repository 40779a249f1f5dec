import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { API_BASE, api, unwrap } from '../api/client.js';
import { commandLine } from '../entry/install-commands.js';
import { useSession } from '../session/session.js';
import { Choices } from '../ui/filter-controls.js';
import { Code } from '../ui/untrusted-text.js';

/** The commands of a client that installs plugins: docs/marketplace.md. */
interface PluginClient {
  readonly title: string;
  readonly add: readonly string[];
  readonly install: readonly string[];
}

const CLIENTS: Readonly<Record<string, PluginClient>> = {
  'claude-code': {
    title: 'Claude Code',
    add: ['claude', 'plugin', 'marketplace', 'add'],
    install: ['claude', 'plugin', 'install'],
  },
  copilot: {
    title: 'Copilot CLI',
    add: ['copilot', 'plugin', 'marketplace', 'add'],
    install: ['copilot', 'plugin', 'install'],
  },
  codex: {
    title: 'Codex',
    add: ['codex', 'plugin', 'marketplace', 'add'],
    install: ['codex', 'plugin', 'add'],
  },
};

interface Marketplace {
  readonly name: string;
  readonly plugins: readonly { readonly name: string }[];
}

/** @throws Failure 404 for a registry that is no marketplace. */
export function readMarketplace(registry: string, signal: AbortSignal): Promise<Marketplace> {
  return unwrap(
    api.GET('/registry/{registry}/x/marketplace.json', { params: { path: { registry } }, signal }),
  );
}

interface Props {
  readonly registry: string;
  readonly marketplace: Marketplace;
  /** The skill or plugin to install; absent: only the marketplace is added. */
  readonly entry?: { readonly namespace: string; readonly name: string };
}

/** How to use a registry as a plugin marketplace; renders nothing for an entry that is no plugin of it. */
export function MarketplaceSteps({ registry, marketplace, entry }: Props): JSX.Element {
  const { settings } = useSession();
  const [client, setClient] = useState('claude-code');
  const { name, plugins } = marketplace;
  const plugin = entry && pluginNameOf(entry);
  if (plugin !== undefined && !plugins.some((each) => each.name === plugin)) return <></>;
  const url = `${API_BASE}/registry/${encodeURIComponent(registry)}/git/marketplace.git`;
  const { title, add, install } = CLIENTS[client] ?? { title: '', add: [], install: [] };
  const lines = [
    commandLine([...add, url]),
    ...(plugin === undefined ? [] : [commandLine([...install, `${plugin}@${name}`])]),
  ];
  return (
    <section class="install">
      <h2>{plugin === undefined ? 'Plugin marketplace' : 'Install from this registry'}</h2>
      <Choices
        label="Client for plugins"
        name="plugin-client"
        value={client}
        options={Object.entries(CLIENTS).map(([key, each]) => [key, each.title] as const)}
        change={setClient}
      />
      <Code
        text={lines.filter((line) => line !== undefined).join('\n')}
        label={`Commands for ${title}`}
        isWhole
      />
      {settings.mode === 'oauth' && (
        <p class="muted small-text">
          The client runs git, which asks for a password: use a token, or a URL with a key from an
          administrator.
        </p>
      )}
    </section>
  );
}

/** reference/marketplace. Longer names end in a digest and are not recognized here. */
function pluginNameOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}-${name}`.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
}
