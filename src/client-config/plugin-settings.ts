import { stringify } from 'smol-toml';
import { type ClientName, syntaxOf } from './client-config.js';

export interface PluginMarketplace {
  readonly name: string;
  /** The URL of its Git repository. */
  readonly repository: string;
  /** The names of its plugins, in order. */
  readonly plugins: readonly string[];
}

/** `settings.json` of Claude Code (also its managed settings) and Copilot CLI. */
function jsonSettings({ name, repository, plugins }: PluginMarketplace): string {
  const settings = {
    extraKnownMarketplaces: { [name]: { source: { source: 'git', url: repository } } },
    enabledPlugins: Object.fromEntries(plugins.map((plugin) => [`${plugin}@${name}`, true])),
  };
  return `${JSON.stringify(settings, null, 2)}\n`;
}

/** `config.toml` of Codex. */
function tomlSettings({ name, repository, plugins }: PluginMarketplace): string {
  return stringify({
    marketplaces: { [name]: { source_type: 'git', source: repository } },
    plugins: Object.fromEntries(plugins.map((plugin) => [`${plugin}@${name}`, { enabled: true }])),
  });
}

const SETTINGS: Readonly<Partial<Record<ClientName, (marketplace: PluginMarketplace) => string>>> = {
  'claude-code': jsonSettings,
  copilot: jsonSettings,
  codex: tomlSettings,
};

export const PLUGIN_CLIENTS = Object.keys(SETTINGS) as readonly ClientName[];

/**
 * Returns the settings that register a marketplace and enable all its plugins (reference/client-config).
 *
 * @returns null for a client that cannot be given plugins by a file.
 */
export function pluginSettings(
  client: ClientName,
  marketplace: PluginMarketplace,
): { readonly text: string; readonly mediaType: string } | null {
  const text = SETTINGS[client]?.(marketplace);
  return text === undefined ? null : { text, mediaType: syntaxOf(client).mediaType };
}
