import { allowedServer, type AllowedServer, isHostOpen } from '../allowlist-entry.js';
import type { ClientFormat } from '../client-format.js';
import { Inexpressible } from '../omission.js';
import { isBatchFileOnWindows } from '../shell-syntax.js';
import { commandOf, environmentToSet } from './server-entry.js';

/**
 * GitHub Copilot: `mcp-config.json` of Copilot CLI (https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers),
 * and the allow-list of the managed settings, which all Copilot clients keep to
 * (https://docs.github.com/en/copilot/reference/enterprise-administrators/enterprise-managed-settings#allowedmcpservers).
 * `$NAME`, `${NAME}` and `${NAME:-default}` are environment variables, with no escape. The URL has to be one before they are filled in.
 */
export const COPILOT: ClientFormat<AllowedServer> = {
  rules: {
    reference: /\$[{A-Za-z_]/,
    usesShell: isBatchFileOnWindows,
    refer: ({ variable, isRequired }) => (isRequired ? `\${${variable}}` : `\${${variable}:-}`),
  },
  entry: (connection, writer) => {
    if (connection.kind === 'remote') {
      if (isHostOpen(connection.url)) throw new Inexpressible('chosen_by_user');
      return {
        type: connection.transport,
        url: writer.text(connection.url),
        ...writer.members('headers', connection.headers),
        tools: ['*'],
      };
    }
    return {
      type: 'local',
      command: connection.command,
      args: writer.args(connection.command, connection.args),
      ...writer.members('env', connection.environment),
      tools: ['*'],
    };
  },
  servers: (mcpServers, inputs) => ({ mcpServers, ...environmentToSet(inputs) }),
  allowed: (connection, entry) => allowedServer(connection, commandOf(entry), false),
  allowlist: (allowedMcpServers) => ({ allowedMcpServers }),
};
