import type { Connection } from './connection.js';
import { Inexpressible } from './omission.js';
import { isOpen, type Template, withInputsAs } from './template.js';

/** An entry of the allow-lists of GitHub Copilot and Claude Code: one of its members. */
export type AllowedServer = { readonly serverUrl: string } | { readonly serverCommand: readonly string[] };

/**
 * What allows exactly this server, in the form that Copilot and Claude Code share.
 *
 * @param command as the configuration has it.
 * @param expands whether references to variables in the list mean what they mean in the configuration.
 * @throws Inexpressible
 */
export function allowedServer(
  connection: Connection,
  command: readonly string[],
  expands: boolean,
): AllowedServer {
  if (connection.kind === 'remote') return { serverUrl: urlPattern(connection.url) };
  if (!expands && connection.args.some(isOpen)) throw new Inexpressible('chosen_by_user');
  return { serverCommand: command };
}

/**
 * A URL in which `*` stands for what each user gives. The host is never one of that: the pattern would allow any.
 *
 * @throws Inexpressible
 */
export function urlPattern(url: Template): string {
  if (url.some((part) => typeof part === 'string' && part.includes('*'))) throw new Inexpressible('wildcard');
  if (isHostOpen(url)) throw new Inexpressible('chosen_by_user');
  return withInputsAs(url, '*');
}

/** Is the host, or a part of it, for the user to give? */
export function isHostOpen(url: Template): boolean {
  const [first] = url;
  return isOpen(url) && !(typeof first === 'string' && /^https?:\/\/[^/?#]+[/?#]/i.test(first));
}
