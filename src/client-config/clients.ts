import { elements, textMember } from '../json/json-values.js';
import type { ServerConnection, NamedTemplate, RemoteConnection } from './connections.js';
import type { PluginServer } from './plugin-server.js';
import {
  isBatchFileOnWindows,
  limitedKey,
  type NamedInput,
  type ServerWriter,
  shortKey,
  type TextRules,
} from './server-writer.js';
import { Inexpressible, isOpen, type Template, withInputsAs } from './template.js';

/** An allow-list entry for GitHub Copilot or Claude Code. */
export type AllowedServer = { readonly serverUrl: string } | { readonly serverCommand: readonly string[] };

/**
 * Returns the allow-list entry for exactly this server, in the format of Copilot and Claude Code.
 *
 * @param command the command in the configuration entry.
 * @param expands whether the client expands variables in the allow-list as it does in the configuration.
 * @throws Inexpressible
 */
function allowedServer(
  connection: ServerConnection,
  command: readonly string[],
  expands: boolean,
): AllowedServer {
  if (connection.kind === 'remote') return { serverUrl: urlPattern(connection.url) };
  if (!expands && connection.args.some(isOpen)) throw new Inexpressible('chosen_by_user');
  return { serverCommand: command };
}

/**
 * Returns a URL pattern with `*` for user input. The host must not be user input, because the pattern would then allow
 * any host.
 *
 * @throws Inexpressible
 */
function urlPattern(url: Template): string {
  if (url.some((part) => typeof part === 'string' && part.includes('*'))) throw new Inexpressible('wildcard');
  if (isHostOpen(url)) throw new Inexpressible('chosen_by_user');
  return withInputsAs(url, '*');
}

/** Returns whether the host depends on user input. */
function isHostOpen(url: Template): boolean {
  const [first] = url;
  return isOpen(url) && !(typeof first === 'string' && /^https?:\/\/[^/?#]+[/?#]/i.test(first));
}

/** A configuration entry; its members depend on the client. */
export type ServerEntry = Readonly<Record<string, unknown>>;

/**
 * What a file is for (reference/client-config): `servers` installs servers, `allowlist` allows only these, `denylist` blocks
 * these, and `managed` does both in the client's managed settings.
 */
export const CONFIG_FORMS = ['servers', 'allowlist', 'managed', 'denylist'] as const;
export type ConfigForm = (typeof CONFIG_FORMS)[number];

/** The format of a client's configuration and lists. */
export interface ClientFormat<Allowed = unknown> {
  readonly syntax: 'json' | 'toml';
  /** The forms that the client supports. */
  readonly forms: readonly ConfigForm[];
  readonly rules: TextRules;
  readonly keyOf: (server: string) => string;
  /** @throws Inexpressible */
  readonly entry: (connection: ServerConnection, writer: ServerWriter) => ServerEntry;
  /** The member that contains the entries by key. */
  readonly serversKey: 'servers' | 'mcpServers' | 'mcp_servers';
  /** The member that lists the inputs; omitted without inputs. */
  readonly inputsKey: 'inputs' | 'x-environment';
  readonly input: (input: NamedInput) => object;
  /** Returns what users must add to the entry themselves; listed in the same member as the inputs. */
  readonly settings?: (connection: ServerConnection, server: string) => readonly object[];
  /**
   * Returns the entry of an allow-list or deny-list for exactly this server.
   *
   * @throws Inexpressible
   */
  readonly listed: (connection: ServerConnection, entry: ServerEntry, server: string) => Allowed;
  allowlist(allowed: readonly Allowed[]): object;
  denylist?(denied: readonly Allowed[]): object;
  /**
   * Set if the client lists the servers of each plugin separately, under the plugin's ID. With such a list, the client
   * starts no servers of other plugins.
   */
  pluginAllowlist?(id: string, allowed: readonly (readonly [PluginServer, Allowed])[]): object;
}

const ALL_FORMS = CONFIG_FORMS;
const wholeName = (server: string) => server;

/** Claude Code, Copilot and VS Code share the deny-list. */
function deniedMcpServers(denied: readonly AllowedServer[]): object {
  return { deniedMcpServers: denied };
}

/**
 * Returns an entry with its transport in `type`, as VS Code and Claude Code expect.
 *
 * @throws Inexpressible
 */
function typedEntry(connection: ServerConnection, writer: ServerWriter): ServerEntry {
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

/** Returns an entry's command, followed by its arguments. */
function commandOf({ command, args }: ServerEntry): string[] {
  return [command, ...elements(args)].filter((word) => typeof word === 'string');
}

/** Describes an environment variable that the user must set, in a member that clients ignore. */
function environmentVariable({ variable, server, name, description, isSecret }: NamedInput): object {
  return {
    variable,
    server,
    name,
    ...(description === '' ? {} : { description }),
    ...(isSecret ? { isSecret } : {}),
  };
}

/**
 * Claude Code: `.mcp.json` (https://code.claude.com/docs/en/mcp#project-scope), and `allowedMcpServers` in the managed
 * settings (https://code.claude.com/docs/en/managed-mcp). `${NAME}` and `${NAME:-default}` are environment variables in
 * both, and cannot be escaped; `$NAME` is plain text. Claude Code quotes the arguments of commands that `cmd.exe` runs.
 */
const CLAUDE_CODE: ClientFormat<AllowedServer> = {
  syntax: 'json',
  forms: ALL_FORMS,
  keyOf: wholeName,
  rules: {
    reference: /\$\{/,
    usesShell: () => false,
    refer: ({ variable, isRequired }) => (isRequired ? `\${${variable}}` : `\${${variable}:-}`),
  },
  entry: typedEntry,
  serversKey: 'mcpServers',
  inputsKey: 'x-environment',
  input: environmentVariable,
  listed: (connection, entry) => allowedServer(connection, commandOf(entry), true),
  // Users could otherwise extend the list in their own settings.
  allowlist: (allowedMcpServers) => ({ allowManagedMcpServersOnly: true, allowedMcpServers }),
  denylist: deniedMcpServers,
};

/** What Copilot and VS Code share: both enforce the lists in Copilot's managed settings. */
const MANAGED_BY_COPILOT = {
  syntax: 'json',
  forms: ALL_FORMS,
  keyOf: wholeName,
  listed: (connection: ServerConnection, entry: ServerEntry) =>
    allowedServer(connection, commandOf(entry), false),
  allowlist: (allowedMcpServers: readonly AllowedServer[]) => ({ allowedMcpServers }),
  denylist: deniedMcpServers,
} as const;

/**
 * GitHub Copilot: `mcp-config.json` of Copilot CLI
 * (https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers), and the allow-list in the
 * managed settings, which all Copilot clients enforce
 * (https://docs.github.com/en/copilot/reference/enterprise-administrators/enterprise-managed-settings#allowedmcpservers).
 * `$NAME`, `${NAME}` and `${NAME:-default}` are environment variables and cannot be escaped. URLs must be valid before
 * expansion.
 */
const COPILOT: ClientFormat<AllowedServer> = {
  ...MANAGED_BY_COPILOT,
  rules: {
    reference: /\$[{A-Za-z_]/,
    usesShell: isBatchFileOnWindows,
    refer: ({ variable, isRequired }) => (isRequired ? `\${${variable}}` : `\${${variable}:-}`),
  },
  entry: (connection, writer) => {
    const isRemote = connection.kind === 'remote';
    if (isRemote && isHostOpen(connection.url)) throw new Inexpressible('chosen_by_user');
    return { ...typedEntry(connection, writer), ...(isRemote ? {} : { type: 'local' }), tools: ['*'] };
  },
  serversKey: 'mcpServers',
  inputsKey: 'x-environment',
  input: environmentVariable,
};

type Allowed = { readonly command: string } | { readonly url: string };

/**
 * Cursor: `mcp.json` (https://cursor.com/docs/mcp). `${env:NAME}` and a few others, such as `${userHome}`, are
 * variables and cannot be escaped. Cursor's documentation describes commands as shell commands, so arguments must not
 * contain shell syntax.
 *
 * The allow-list is in the team's dashboard, as command entries and URL entries
 * (https://cursor.com/docs/enterprise/model-and-integration-management#mcp-allowlist): `*` matches any text. Cursor
 * compares the whole command line: the command, possibly with its full path, and its arguments, separated by spaces.
 * It has no deny-list. Tools are left out if their name and the server's key together exceed 60 characters.
 */
const CURSOR: ClientFormat<Allowed> = {
  syntax: 'json',
  forms: ['servers', 'allowlist'],
  keyOf: limitedKey,
  rules: {
    reference: /\$\{/,
    usesShell: () => true,
    refer: ({ variable }) => `\${env:${variable}}`,
  },
  entry: (connection, writer) =>
    connection.kind === 'remote'
      ? { url: writer.text(connection.url), ...writer.members('headers', connection.headers) }
      : typedEntry(connection, writer),
  serversKey: 'mcpServers',
  inputsKey: 'x-environment',
  input: environmentVariable,
  listed: (connection, entry) => {
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
 * VS Code: `mcp.json` with `servers` and `inputs`
 * (https://code.visualstudio.com/docs/copilot/reference/mcp-configuration). VS Code prompts for each input once and
 * stores it by id. `${…}` is a variable everywhere, even in names
 * (https://code.visualstudio.com/docs/reference/variables-reference), and cannot be escaped. `$NAME` is plain text, but
 * an allow-list blocks servers whose command or URL contains it.
 *
 * VS Code enforces the allow-list in Copilot's managed settings:
 * https://docs.github.com/en/copilot/reference/enterprise-administrators/enterprise-managed-settings#allowedmcpservers.
 */
const VSCODE: ClientFormat<AllowedServer> = {
  ...MANAGED_BY_COPILOT,
  rules: {
    reference: /\$[{A-Za-z_]/,
    usesShell: isBatchFileOnWindows,
    refer: ({ id }) => `\${input:${id}}`,
  },
  entry: typedEntry,
  serversKey: 'servers',
  inputsKey: 'inputs',
  input: prompt,
};

function prompt({ id, server, name, description, isSecret, choices, default: preset }: NamedInput): object {
  // The server's name comes first, because the publisher controls the rest.
  const about = `${server}: ${description || name}`;
  const isPlain = preset !== undefined && !isSecret && !preset.includes('${');
  const value = isPlain ? { default: preset } : {};
  return choices.length > 0
    ? { type: 'pickString', id, description: about, options: choices, ...value }
    : { type: 'promptString', id, description: about, ...(isSecret ? { password: true } : {}), ...value };
}

/** A member of `mcp_servers` in Codex's `requirements.toml`. */
type CodexRequirement = readonly [key: string, requirement: object];

/**
 * Codex: `config.toml` (https://developers.openai.com/codex/mcp), and `mcp_servers` of `requirements.toml`
 * (https://developers.openai.com/codex/enterprise/managed-configuration): a server may run only if its key and its
 * identity match. It has no deny-list. Codex supports no variables, so user input is possible only in headers. It passes
 * on environment variables only under their own names, which would let a document read the user's existing variables:
 * the user enters them in the server's table `env` instead.
 */
const CODEX: ClientFormat<CodexRequirement> = {
  syntax: 'toml',
  forms: ['servers', 'allowlist', 'managed'],
  keyOf: shortKey,
  rules: {
    reference: /(?!)/,
    usesShell: () => false,
    refer: () => {
      throw new Inexpressible('unsupported_input');
    },
  },
  entry: (connection, writer) => {
    if (connection.kind === 'remote') {
      if (connection.transport === 'sse') throw new Inexpressible('unsupported_remote');
      return { url: writer.text(connection.url), ...codexHeaders(connection, writer) };
    }
    const args = writer.args(connection.command, connection.args);
    const fixed = connection.environment.filter(({ value }) => !isOpen(value));
    return { command: connection.command, args, ...writer.members('env', fixed) };
  },
  serversKey: 'mcp_servers',
  inputsKey: 'x-environment',
  input: environmentVariable,
  settings: (connection, server) =>
    (connection.kind === 'remote' ? [] : connection.environment)
      .filter(({ value }) => isOpen(value))
      .map(({ name, value }) => {
        const inputs = value.filter((part) => typeof part !== 'string');
        const description = inputs
          .map((input) => input.description)
          .join(' ')
          .trim();
        return {
          table: `mcp_servers.${shortKey(server)}.env`,
          variable: name,
          server,
          ...(description === '' ? {} : { description }),
          ...(inputs.some(({ isSecret }) => isSecret) ? { isSecret: true } : {}),
        };
      }),
  listed: (connection, entry, server) => {
    const identity =
      connection.kind === 'remote'
        ? { url: entry['url'] }
        : {
            command: {
              executable: entry['command'],
              args: elements(entry['args']).map((value) => ({ match: 'exact', value })),
            },
          };
    return [shortKey(server), { identity }];
  },
  allowlist: (allowed) => ({ mcp_servers: Object.fromEntries(allowed) }),
  pluginAllowlist: (id, allowed) => ({
    plugins: {
      [id]: {
        mcp_servers: Object.fromEntries(
          allowed.map(([{ name, config }, [, requirement]]) => {
            const url = textMember(config, 'url');
            // Codex compares the URL as the plugin spells it.
            return [name, url === undefined ? requirement : { identity: { url } }];
          }),
        ),
      },
    },
  }),
};

/**
 * Returns the headers: fixed ones, ones that are entirely user input, and a bearer token.
 *
 * @throws Inexpressible
 */
function codexHeaders({ headers }: RemoteConnection, writer: ServerWriter): ServerEntry {
  const fixed: NamedTemplate[] = [];
  const fromEnvironment: Record<string, string> = {};
  let token: string | undefined;
  for (const header of headers) {
    const [first, second, ...rest] = header.value;
    if (!isOpen(header.value)) fixed.push(header);
    else if (typeof first === 'object' && second === undefined)
      fromEnvironment[header.name] = writer.named(first).variable;
    else if (
      header.name.toLowerCase() === 'authorization' &&
      first === 'Bearer ' &&
      typeof second === 'object' &&
      rest.length === 0
    )
      token = writer.named(second).variable;
    else throw new Inexpressible('unsupported_input');
  }
  return {
    ...(token === undefined ? {} : { bearer_token_env_var: token }),
    ...writer.members('http_headers', fixed),
    ...(Object.keys(fromEnvironment).length === 0 ? {} : { env_http_headers: fromEnvironment }),
  };
}

/** The supported clients (reference/client-config). */
export const CLIENTS = ['vscode', 'copilot', 'claude-code', 'cursor', 'codex'] as const;
export type ClientName = (typeof CLIENTS)[number];

export const FORMATS: Readonly<Record<ClientName, ClientFormat>> = {
  vscode: VSCODE,
  copilot: COPILOT,
  'claude-code': CLAUDE_CODE,
  cursor: CURSOR,
  codex: CODEX,
};

export function formsOf(client: ClientName): readonly ConfigForm[] {
  return FORMATS[client].forms;
}
