import { elements } from '../../json/json-values.js';
import type { ServerEntry } from '../client-format.js';
import type { Connection } from '../connection.js';
import type { NamedInput, ServerWriter } from '../server-writer.js';

/**
 * An entry with its transport as `type`, as VS Code and Claude Code have it.
 *
 * @throws Inexpressible
 */
export function typedEntry(connection: Connection, writer: ServerWriter): ServerEntry {
  if (connection.kind === 'remote')
    return {
      type: connection.transport,
      url: writer.text(connection.url),
      ...writer.members('headers', connection.headers),
    };
  return {
    type: 'stdio',
    command: connection.command,
    args: writer.args(connection.command, connection.args),
    ...writer.members('env', connection.environment),
  };
}

/** The command of an entry with its arguments. */
export function commandOf({ command, args }: ServerEntry): string[] {
  return [command, ...elements(args)].filter((word) => typeof word === 'string');
}

/** What the user has to set before the client starts, in a member that clients ignore. */
export function environmentToSet(inputs: readonly NamedInput[]): object {
  if (inputs.length === 0) return {};
  return {
    'x-environment': inputs.map(({ variable, server, name, description, isSecret }) => ({
      variable,
      server,
      name,
      ...(description === '' ? {} : { description }),
      ...(isSecret ? { isSecret } : {}),
    })),
  };
}
