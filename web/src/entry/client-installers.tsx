import type { ComponentChildren } from 'preact';
import { API_BASE } from '../api/client.js';
import type { ServerSetup } from '../api/types.js';
import { type ClaudeScope, claudeCommand, codexCommand, shortName } from './install-commands.js';
import { cursorLink, vscodeLink } from './install-links.js';
import { type Entry, entryIn, type Field, filled, referredIn, type Values } from './install-values.js';

type Setup = ServerSetup['options'][number]['clients'][number];

/** The configuration file of each client. */
export const CONFIGURATION_FILES: Readonly<Record<string, ComponentChildren>> = {
  vscode: (
    <>
      <code>.vscode/mcp.json</code> in your workspace, or the file that the command{' '}
      <b>MCP: Open User Configuration</b> opens
    </>
  ),
  cursor: (
    <>
      <code>~/.cursor/mcp.json</code>, or <code>.cursor/mcp.json</code> in your project
    </>
  ),
  'claude-code': (
    <>
      <code>.mcp.json</code> in your project
    </>
  ),
  codex: <code>~/.codex/config.toml</code>,
  copilot: <code>~/.copilot/mcp-config.json</code>,
};

/** The server to install, and what the user chose. */
export interface Chosen {
  readonly registry: string;
  /** The name of the server. */
  readonly name: string;
  readonly version: string;
  readonly setup: Setup;
  readonly values: Values;
}

export function registryUrl(registry: string): string {
  return `${API_BASE}/registry/${encodeURIComponent(registry)}`;
}

export interface Installer {
  readonly link?: string | undefined;
  readonly command?: string | undefined;
  /** Fields that the link leaves to the environment. */
  readonly linkUnset?: readonly Field[];
  /** The file's content. */
  readonly code: string;
  /** Fields without a value in the file. */
  readonly unset: readonly Field[];
}

type InstallerOf = (chosen: Chosen, fields: readonly Field[], scope: ClaudeScope) => Installer;

/** How each client installs a server. Links and shared files contain no secrets. */
export const INSTALLERS: Readonly<Record<string, InstallerOf>> = {
  vscode: ({ registry, version, setup, values }, fields) => {
    const { name, entry } = entryIn(setup.configuration as Entry);
    const origin = { gallery: registryUrl(registry), version };
    const plain = {
      ...filled(entry, fields, values, { withSecrets: false, missing: 'reference' }),
      ...origin,
    };
    const asked = referredIn(fields, plain).flatMap(({ references }) => references);
    const { inputs = [] } = setup.configuration as { inputs?: readonly Entry[] };
    const left = inputs.filter(({ id }) => asked.includes(`\${input:${String(id)}}`));
    const withInputs = left.length > 0 ? { inputs: left } : {};
    return {
      link: vscodeLink(name, plain, withInputs.inputs),
      code: JSON.stringify({ ...withInputs, servers: { [name]: plain } }, null, 2),
      unset: [],
    };
  },
  cursor: ({ setup, values }, fields) => {
    const { name, entry } = entryIn(setup.configuration as Entry);
    const plain = filled(entry, fields, values, { withSecrets: false, missing: 'reference' });
    return {
      link: cursorLink(name, plain),
      linkUnset: referredIn(fields, plain),
      ...jsonFile(setup, fields, values, true),
    };
  },
  'claude-code': ({ name, setup, values }, fields, scope) => {
    const { entry } = entryIn(setup.configuration as Entry);
    const options = { withSecrets: scope !== 'project', missing: 'placeholder' } as const;
    return {
      command: claudeCommand(shortName(name), filled(entry, fields, values, options), scope),
      ...jsonFile(setup, fields, values, false, shortName(name)),
    };
  },
  codex: ({ setup, values }, fields) => {
    const { name, entry } = entryIn(setup.configuration as Entry);
    const inFile = filled(entry, fields, values, { withSecrets: true, missing: 'reference' });
    return {
      command: codexCommand(
        name,
        filled(entry, fields, values, { withSecrets: true, missing: 'placeholder' }),
      ),
      code: tomlWith(setup.toml ?? '', name, entry, inFile),
      unset: fields.filter(
        (field) =>
          referredIn([field], inFile).length > 0 ||
          (field.table !== undefined && field.isRequired && !values[field.name]),
      ),
    };
  },
  copilot: ({ setup, values }, fields) => jsonFile(setup, fields, values, true),
};

function jsonFile(
  { configuration }: Setup,
  fields: readonly Field[],
  values: Values,
  withSecrets: boolean,
  name?: string,
): Installer {
  const { name: ownName, entry } = entryIn(configuration as Entry);
  const inFile = filled(entry, fields, values, { withSecrets, missing: 'reference' });
  return {
    code: JSON.stringify({ mcpServers: { [name ?? ownName]: inFile } }, null, 2),
    unset: referredIn(fields, inFile),
  };
}

/** Adds the entered values to the `env` table, which is the last one in the server's TOML. Comments name variables. */
function tomlWith(toml: string, name: string, before: Entry, after: Entry): string {
  const known = (before['env'] ?? {}) as Readonly<Record<string, unknown>>;
  const added = Object.entries((after['env'] ?? {}) as Readonly<Record<string, unknown>>).filter(
    ([variable]) => !Object.hasOwn(known, variable),
  );
  const text = toml.replaceAll(/^#.*\n?/gm, '').trim();
  if (added.length === 0) return text;
  const table = before['env'] === undefined ? ['', `[mcp_servers.${name}.env]`] : [];
  // A JSON string is a TOML basic string, except for the character DEL.
  const lines = added.map(
    ([variable, value]) => `${variable} = ${JSON.stringify(value).replaceAll('\u007f', String.raw`\u007f`)}`,
  );
  return [text, ...table, ...lines].join('\n');
}
