import { elements } from '../json/json-values.js';
import type { Connection } from './connections.js';
import { isBatchFileOnWindows, type NamedInput, type ServerWriter, type TextRules } from './server-writer.js';
import { Inexpressible, isOpen, type Template, withInputsAs } from './template.js';

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

/** An entry of a configuration; which members it has is the client's to say. */
export type ServerEntry = Readonly<Record<string, unknown>>;

/** The configuration of a client, and its allow-list. */
export interface ClientFormat<Allowed = unknown> {
  readonly rules: TextRules;
  /** @throws Inexpressible */
  readonly entry: (connection: Connection, writer: ServerWriter) => ServerEntry;
  /** @param entries by the names of the servers, in their order. */
  readonly servers: (entries: Readonly<Record<string, ServerEntry>>, inputs: readonly NamedInput[]) => object;
  /**
   * What allows exactly the server of this entry.
   *
   * @throws Inexpressible
   */
  readonly allowed: (connection: Connection, entry: ServerEntry) => Allowed;
  allowlist(allowed: readonly Allowed[]): object;
}

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
