import { urlPattern } from '../allowlist-entry.js';
import type { ClientFormat } from '../client-format.js';
import { Inexpressible } from '../omission.js';
import { isOpen } from '../template.js';
import { commandOf, environmentToSet } from './server-entry.js';

type Allowed = { readonly command: string } | { readonly url: string };

/**
 * Cursor: `mcp.json` (https://cursor.com/docs/mcp). `${env:NAME}` and a few others, such as `${userHome}`, are variables, with no escape.
 * Its documentation calls a command a shell command, so no argument may mean something to a shell.
 *
 * The allow-list is kept in the team's dashboard, as command entries and URL entries
 * (https://cursor.com/docs/enterprise/model-and-integration-management#mcp-allowlist): `*` is any text, and a command, which may come
 * with the path it was found at, is compared with its arguments behind spaces.
 */
export const CURSOR: ClientFormat<Allowed> = {
  rules: {
    reference: /\$\{/,
    usesShell: () => true,
    refer: ({ variable }) => `\${env:${variable}}`,
  },
  entry: (connection, writer) =>
    connection.kind === 'remote'
      ? { url: writer.text(connection.url), ...writer.members('headers', connection.headers) }
      : {
          type: 'stdio',
          command: connection.command,
          args: writer.args(connection.command, connection.args),
          ...writer.members('env', connection.environment),
        },
  servers: (mcpServers, inputs) => ({ mcpServers, ...environmentToSet(inputs) }),
  allowed: (connection, entry) => {
    if (connection.kind === 'remote') return { url: urlPattern(connection.url) };
    if (connection.args.some(isOpen)) throw new Inexpressible('chosen_by_user');
    const command = commandOf(entry).join(' ');
    if (command.includes('*')) throw new Inexpressible('wildcard');
    return { command: `*${command}` };
  },
  allowlist: (allowed) => ({
    commandEntries: allowed.flatMap((entry) => ('command' in entry ? [entry.command] : [])),
    urlEntries: allowed.flatMap((entry) => ('url' in entry ? [entry.url] : [])),
  }),
};
