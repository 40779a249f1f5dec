import type { JSX } from 'preact';
import { API_BASE, api, unwrap } from '../api/client.js';
import { useClient } from '../entry/chosen-client.js';
import { CLIENT_TITLES } from '../entry/clients.js';
import { commandLine } from '../entry/install-commands.js';
import { useSession } from '../session/session.js';
import { Choices } from '../ui/filter-controls.js';
import { Code } from '../ui/untrusted-text.js';

/** The commands of clients that install plugins: docs/marketplace.md. */
const COMMANDS: Readonly<
  Record<string, { readonly add: readonly string[]; readonly install: readonly string[] }>
> = {
  'claude-code': {
    add: ['claude', 'plugin', 'marketplace', 'add'],
    install: ['claude', 'plugin', 'install'],
  },
  copilot: {
    add: ['copilot', 'plugin', 'marketplace', 'add'],
    install: ['copilot', 'plugin', 'install'],
  },
  codex: {
    add: ['codex', 'plugin', 'marketplace', 'add'],
    install: ['codex', 'plugin', 'add'],
  },
};

/** The clients that install plugins from a marketplace. */
export const MARKETPLACE_CLIENTS = Object.keys(COMMANDS);

export interface Marketplace {
  readonly name: string;
  readonly plugins: readonly { readonly name: string }[];
}

/** @throws Failure 404 if the registry is not a marketplace. */
export function readMarketplace(registry: string, signal: AbortSignal): Promise<Marketplace> {
  return unwrap(
    api.GET('/registry/{registry}/x/marketplace.json', { params: { path: { registry } }, signal }),
  );
}

/** Returns the commands that add the marketplace to a client and, unless undefined, install a plugin from it. */
export function marketplaceCommands(
  client: string,
  registry: string,
  marketplace: string,
  plugin: string | undefined,
): string {
  const { add, install } = COMMANDS[client] ?? { add: [], install: [] };
  const url = `${API_BASE}/registry/${encodeURIComponent(registry)}/git/marketplace.git`;
  const lines = [
    commandLine([...add, url]),
    ...(plugin === undefined ? [] : [commandLine([...install, `${plugin}@${marketplace}`])]),
  ];
  return lines.filter((line) => line !== undefined).join('\n');
}

/**
 * Maximum length of a plugin's name; a longer one is replaced by its beginning and a digest
 * (docs/reference/marketplace.md).
 */
const MAX_NAME = 64;
const MAX_BEGINNING = 55;

/** Returns the marketplace's plugin for a skill or plugin. */
export function pluginOf({ plugins }: Marketplace, name: string): string | undefined {
  const own = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  const beginning = `${own.slice(0, MAX_BEGINNING).replace(/-$/, '')}-`;
  return plugins.find((plugin) =>
    own.length <= MAX_NAME
      ? plugin.name === own
      : plugin.name.startsWith(beginning) && plugin.name.length === beginning.length + 8,
  )?.name;
}

interface Props {
  readonly registry: string;
  readonly marketplace: Marketplace;
}

/** How to use a registry as a plugin marketplace. */
export function MarketplaceSteps({ registry, marketplace }: Props): JSX.Element {
  const [client, choose] = useClient(MARKETPLACE_CLIENTS);
  return (
    <section class="install">
      <h2>Plugin marketplace</h2>
      <Choices
        label="Client for plugins"
        name="plugin-client"
        value={client}
        options={MARKETPLACE_CLIENTS.map((each) => [each, CLIENT_TITLES[each] ?? each] as const)}
        change={choose}
      />
      <Code
        text={marketplaceCommands(client, registry, marketplace.name, undefined)}
        label={`Commands for ${CLIENT_TITLES[client] ?? client}`}
        isWhole
      />
      <GitLogin />
    </section>
  );
}

export function GitLogin(): JSX.Element {
  const { settings } = useSession();
  if (settings.mode !== 'oauth') return <></>;
  return (
    <p class="muted small-text">
      The client runs git, which asks for a password: use a token, or a URL with a key from an administrator.
    </p>
  );
}
