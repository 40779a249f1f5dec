import { allowedServer, type AllowedServer } from '../allowlist-entry.js';
import type { ClientFormat } from '../client-format.js';
import { commandOf, environmentToSet, typedEntry } from './server-entry.js';

/**
 * Claude Code: `.mcp.json` (https://code.claude.com/docs/en/mcp#project-scope), and `allowedMcpServers` of the managed settings
 * (https://code.claude.com/docs/en/managed-mcp). `${NAME}` and `${NAME:-default}` are environment variables, with no escape, and
 * expand in both; `$NAME` and everything else is text. Arguments are quoted for `cmd.exe` where that runs the command.
 */
export const CLAUDE_CODE: ClientFormat<AllowedServer> = {
  rules: {
    reference: /\$\{/,
    usesShell: () => false,
    refer: ({ variable, isRequired }) => (isRequired ? `\${${variable}}` : `\${${variable}:-}`),
  },
  entry: typedEntry,
  servers: (mcpServers, inputs) => ({ mcpServers, ...environmentToSet(inputs) }),
  allowed: (connection, entry) => allowedServer(connection, commandOf(entry), true),
  // Without it users could add to the list in settings of their own.
  allowlist: (allowedMcpServers) => ({ allowManagedMcpServersOnly: true, allowedMcpServers }),
};
