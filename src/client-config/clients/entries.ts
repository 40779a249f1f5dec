import type { ServerEntry } from '../client-format.js';
import { elements } from '../../json/members.js';
import type { NamedInput } from '../server-writer.js';

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
