import { stringify } from 'smol-toml';
import { syntaxOf } from './client-config.js';
import { type ClientName, CONFIG_FORMS, formsOf } from './clients.js';

/** The purpose of a client's file: see `ConfigForm`; `plugins` installs the plugins of a marketplace. */
export const FILE_FORMS = [...CONFIG_FORMS, 'plugins'] as const;
export type FileForm = (typeof FILE_FORMS)[number];

/** Returns the forms that a client supports; `plugins` only if the registry is a marketplace. */
export function fileFormsOf(client: ClientName): readonly FileForm[] {
  return [...formsOf(client), ...(client in FORMATS ? (['plugins'] as const) : [])];
}

/** A marketplace as clients know it. */
export interface KnownMarketplace {
  readonly name: string;
  /** The URL of its Git repository. */
  readonly repository: string;
}

/** Writes the plugin settings of one client. Names do not include the marketplace. */
interface PluginFormat {
  /** The text of the settings that register the marketplace and enable these plugins. */
  install(marketplace: KnownMarketplace, plugins: readonly string[]): string;
  /** Members of managed settings that allow only this marketplace, update it, and disable these plugins. */
  manage(marketplace: KnownMarketplace, disabled: readonly string[]): object;
}

/**
 * Claude Code (https://code.claude.com/docs/en/plugins/org), Copilot CLI and VS Code
 * (https://docs.github.com/en/copilot/reference/enterprise-administrators/enterprise-managed-settings; in a workspace, VS Code
 * also reads these settings: https://code.visualstudio.com/docs/agent-customization/agent-plugins).
 */
const JSON_FORMAT: PluginFormat = {
  install: ({ name, repository }, plugins) =>
    `${JSON.stringify(
      {
        extraKnownMarketplaces: { [name]: { source: { source: 'git', url: repository } } },
        enabledPlugins: Object.fromEntries(plugins.map((plugin) => [`${plugin}@${name}`, true])),
      },
      null,
      2,
    )}\n`,
  manage: ({ name, repository }, disabled) => {
    const source = { source: 'git', url: repository };
    return {
      extraKnownMarketplaces: { [name]: { source, autoUpdate: true } },
      strictKnownMarketplaces: [source],
      enabledPlugins: Object.fromEntries(disabled.map((plugin) => [`${plugin}@${name}`, false])),
    };
  },
};

/**
 * Codex: `config.toml` and `requirements.toml` (https://learn.chatgpt.com/docs/config-file/config-reference).
 * Requirements cannot disable a plugin, but their server list keeps the servers of a removed plugin from starting.
 */
const CODEX_FORMAT: PluginFormat = {
  install: ({ name, repository }, plugins) =>
    stringify({
      marketplaces: { [name]: { source_type: 'git', source: repository } },
      plugins: Object.fromEntries(plugins.map((plugin) => [`${plugin}@${name}`, { enabled: true }])),
    }),
  manage: ({ name, repository }) => ({
    marketplaces: {
      restrict_to_allowed_sources: true,
      allowed_sources: { [name]: { source: 'git', url: repository } },
    },
  }),
};

const FORMATS: Readonly<Partial<Record<ClientName, PluginFormat>>> = {
  vscode: JSON_FORMAT,
  copilot: JSON_FORMAT,
  'claude-code': JSON_FORMAT,
  codex: CODEX_FORMAT,
};

export const PLUGIN_CLIENTS = Object.keys(FORMATS) as readonly ClientName[];

/**
 * Returns the settings that register a marketplace and enable its plugins (reference/client-config).
 *
 * @param plugins their names, in order.
 * @returns null for a client that cannot install plugins from a file.
 */
export function pluginSettings(
  client: ClientName,
  marketplace: KnownMarketplace,
  plugins: readonly string[],
): { readonly text: string; readonly mediaType: string } | null {
  const text = FORMATS[client]?.install(marketplace, plugins);
  return text === undefined ? null : { text, mediaType: syntaxOf(client).mediaType };
}

/**
 * Returns the members of a client's managed settings that admit only this marketplace, keep it updated, and disable plugins
 * (reference/client-config).
 *
 * @param disabled the names of the plugins, in order.
 */
export function managedPlugins(
  client: ClientName,
  marketplace: KnownMarketplace,
  disabled: readonly string[],
): object {
  return FORMATS[client]?.manage(marketplace, disabled) ?? {};
}
