import { allowedServer, type AllowedServer } from '../allowlist-entry.js';
import type { ClientFormat } from '../client-format.js';
import type { NamedInput } from '../server-writer.js';
import { isBatchFileOnWindows } from '../shell-syntax.js';
import { commandOf, typedEntry } from './server-entry.js';

/**
 * VS Code: `mcp.json` with `servers` and `inputs` (https://code.visualstudio.com/docs/copilot/reference/mcp-configuration). Values given
 * for inputs are asked for once and kept by their id. `${…}` is a variable everywhere, in names too
 * (https://code.visualstudio.com/docs/reference/variables-reference), with no escape. `$NAME` is text, but a server whose command or
 * URL holds it is blocked wherever there is an allow-list.
 *
 * The allow-list is the one of Copilot's managed settings, which VS Code keeps to:
 * https://docs.github.com/en/copilot/reference/enterprise-administrators/enterprise-managed-settings#allowedmcpservers.
 */
export const VSCODE: ClientFormat<AllowedServer> = {
  rules: {
    reference: /\$[{A-Za-z_]/,
    usesShell: isBatchFileOnWindows,
    refer: ({ id }) => `\${input:${id}}`,
  },
  entry: typedEntry,
  servers: (servers, inputs) => ({ servers, ...(inputs.length > 0 ? { inputs: inputs.map(prompt) } : {}) }),
  allowed: (connection, entry) => allowedServer(connection, commandOf(entry), false),
  allowlist: (allowedMcpServers) => ({ allowedMcpServers }),
};

function prompt({ id, server, name, description, isSecret, choices, default: preset }: NamedInput): object {
  // Who asks comes first: the rest is the publisher's.
  const about = `${server}: ${description || name}`;
  const isPlain = preset !== undefined && !isSecret && !preset.includes('${');
  const value = isPlain ? { default: preset } : {};
  return choices.length > 0
    ? { type: 'pickString', id, description: about, options: choices, ...value }
    : { type: 'promptString', id, description: about, ...(isSecret ? { password: true } : {}), ...value };
}
