import { parseShallow } from '../json/json-text.js';
import { elements, isObject, member } from '../json/json-values.js';

/** The file in which clients of Agent Plugins look for servers. */
export const PORTABLE_FILE = 'mcp.json';
/** The file in which Claude Code and the clients that adopted its format look for servers. */
export const CLAUDE_FILE = '.mcp.json';
export type ServersFile = typeof PORTABLE_FILE | typeof CLAUDE_FILE;

export const PLUGIN_SCHEMA = 'https://agent-plugins.org/schemas/1.0.0/plugin.schema.json';
const SERVERS_SCHEMA = 'https://agent-plugins.org/schemas/1.0.0/mcp.schema.json';

/** A server that cannot be expressed in the other format. */
export interface UntranslatedServer {
  readonly file: ServersFile;
  /** Absent if the whole file cannot be read. */
  readonly server?: string;
  readonly reason: string;
}

export interface TranslatedServers {
  /** The other file, as JSON; null if this file cannot be read. */
  readonly text: string | null;
  readonly untranslated: readonly UntranslatedServer[];
  /** Whether the file may contain servers but none could be translated. */
  readonly hasNone?: boolean;
}

/** Longer and deeper files are not translated. */
export const MAX_SERVERS_FILE_BYTES = 256 * 1_024;
const MAX_DEPTH = 100;

/**
 * Translates the servers of a plugin between Agent Plugins 1.0 (https://agent-plugins.org/specification, §7.2 and §9) and the
 * format of Claude Code (https://code.claude.com/docs/en/mcp#plugin-provided-mcp-servers), server by server: a server that
 * would start or connect differently is left out. Equal texts give equal translations.
 *
 * @param file the format of `text`.
 */
export function translatedServers(file: ServersFile, text: string): TranslatedServers {
  const servers = serversIn(text);
  if (!servers)
    return {
      text: null,
      untranslated: [{ file, reason: 'The file is not an object of servers' }],
      hasNone: true,
    };
  const translate = file === PORTABLE_FILE ? toClaude : toPortable;
  const translated: [string, object][] = [];
  const untranslated: UntranslatedServer[] = [];
  for (const [server, config] of Object.entries(servers))
    try {
      translated.push([server, translate(config)]);
    } catch (error) {
      if (!(error instanceof Untranslatable)) throw error;
      untranslated.push({ file, server, reason: error.message });
    }
  const schema = file === CLAUDE_FILE ? { $schema: SERVERS_SCHEMA } : {};
  const other = { ...schema, mcpServers: Object.fromEntries(translated) };
  const hasNone = translated.length === 0 && untranslated.length > 0;
  return { text: `${JSON.stringify(other, null, 2)}\n`, untranslated, hasNone };
}

/** Returns the servers file of a plugin that has only one of the two. */
export function onlyServersFile<File extends { readonly path: string }>(
  files: readonly File[],
): (File & { readonly path: ServersFile }) | undefined {
  const [portable, claude] = [PORTABLE_FILE, CLAUDE_FILE].map((path) => hasPath(files, path));
  const path = portable ? PORTABLE_FILE : CLAUDE_FILE;
  const isFound = (file: File): file is File & { readonly path: ServersFile } => file.path === path;
  return portable === claude ? undefined : files.find(isFound);
}

/** Returns whether a file or folder with this path exists, ignoring case. */
export function hasPath(files: readonly { readonly path: string }[], path: string): boolean {
  return files.some((file) => `${file.path.toLowerCase()}/`.startsWith(`${path}/`));
}

class Untranslatable extends Error {
  override readonly name = 'Untranslatable';
}

/** Returns the servers in either file by name. Claude Code also reads a file without the enclosing `mcpServers`. */
function serversIn(text: string): Record<string, unknown> | null {
  const value = text.length > MAX_SERVERS_FILE_BYTES ? undefined : parseShallow(text, MAX_DEPTH);
  if (!isObject(value)) return null;
  const servers = Object.hasOwn(value, 'mcpServers') ? member(value, 'mcpServers') : value;
  return isObject(servers) && Object.values(servers).every(isObject) ? servers : null;
}

const FIELDS = {
  stdio: ['type', 'command', 'args', 'env', 'cwd'],
  remote: ['type', 'url', 'headers'],
} as const;

/** The transports of remote servers in Agent Plugins, by their names in each file; `http` is Claude Code's name. */
const TRANSPORTS = new Map([
  ['http', 'streamable-http'],
  ['streamable-http', 'streamable-http'],
  ['sse', 'sse'],
]);

/** A server from either file, in the terms of Agent Plugins. */
type Server =
  | {
      readonly kind: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      readonly env: readonly (readonly [string, string])[];
      readonly cwd: string | undefined;
    }
  | {
      readonly kind: 'remote';
      readonly type: string;
      readonly url: string;
      readonly headers: readonly (readonly [string, string])[];
    };

/** @throws Untranslatable for anything that only one of the formats, or neither, supports. */
function serverOf(config: unknown): Server {
  if (!isObject(config)) throw new Untranslatable('It is not an object');
  const kind = Object.hasOwn(config, 'url') ? 'remote' : 'stdio';
  const unknown = Object.keys(config).find((key) => !(FIELDS[kind] as readonly string[]).includes(key));
  if (unknown !== undefined) throw new Untranslatable(`The other format has no \`${shown(unknown)}\``);
  if (kind === 'remote') {
    const type = TRANSPORTS.get(textIn(config, 'type') ?? 'http');
    if (type === undefined) throw new Untranslatable('The other format does not have its transport');
    return { kind, type, url: remoteUrl(textIn(config, 'url') ?? ''), headers: textsIn(config, 'headers') };
  }
  if ((textIn(config, 'type') ?? 'stdio') !== 'stdio')
    throw new Untranslatable('The other format does not have its transport');
  const args = config['args'] ?? [];
  if (!Array.isArray(args) || !args.every((value) => typeof value === 'string'))
    throw new Untranslatable('Its `args` are not a list of strings');
  return {
    kind,
    command: textIn(config, 'command') ?? '',
    args: elements(args).map(String),
    env: textsIn(config, 'env'),
    cwd: textIn(config, 'cwd'),
  };
}

function textIn(config: Record<string, unknown>, key: string): string | undefined {
  const value = member(config, key);
  if (value !== undefined && typeof value !== 'string')
    throw new Untranslatable(`Its \`${key}\` is not a string`);
  return value;
}

function textsIn(config: Record<string, unknown>, key: string): [string, string][] {
  const value = member(config, key) ?? {};
  if (!isObject(value)) throw new Untranslatable(`Its \`${key}\` is not an object`);
  return Object.entries(value).map(([name, text]) => {
    if (typeof text !== 'string') throw new Untranslatable(`Its \`${key}\` has a value that is not a string`);
    return [name, text];
  });
}

/** Agent Plugins §7.2.1: absolute, without user and fragment, and encrypted unless it is on the user's machine. */
function remoteUrl(text: string): string {
  if (text.includes('${')) throw new Untranslatable(`Its \`url\` has the variable ${variableIn(text)}`);
  const { protocol, hostname, username, password, hash } = URL.canParse(text) ? new URL(text) : NO_URL;
  const isLocal = hostname === 'localhost' || /^(127(\.\d+){3}|\[::1\])$/.test(hostname);
  if (
    username !== '' ||
    password !== '' ||
    hash !== '' ||
    !(protocol === 'https:' || (protocol === 'http:' && isLocal))
  )
    throw new Untranslatable('Agent Plugins does not allow its `url`');
  return text;
}

const NO_URL = { protocol: '', hostname: '', username: '', password: '', hash: '' };

/** The folders for which each format has a variable, in `args` and `env`. */
const FOLDERS = [
  ['${PLUGIN_ROOT}', '${CLAUDE_PLUGIN_ROOT}'],
  ['${PLUGIN_DATA}', '${CLAUDE_PLUGIN_DATA}'],
] as const;
/** Variables that Agent Plugins clients set in the environment of a server. */
const PORTABLE_ENVIRONMENT = FOLDERS.map(([name]) => name.slice(2, -1));

/** Only folders have counterparts: Claude Code also expands every other `${…}`, Agent Plugins none. */
function withFolders(text: string, direction: 'toClaude' | 'toPortable'): string {
  const parts = text.split(/(\$\{(?:CLAUDE_)?PLUGIN_(?:ROOT|DATA)\})/).map((part) => {
    const folder = FOLDERS.find((names) => names[direction === 'toClaude' ? 0 : 1] === part);
    if (folder) return folder[direction === 'toClaude' ? 1 : 0];
    if (part.includes('${')) throw new Untranslatable(`The other format has no ${variableIn(part)}`);
    return part;
  });
  return parts.join('');
}

function variableIn(text: string): string {
  return shown(/\$\{[^}]*\}?/.exec(text)?.[0] ?? '');
}

/** The publisher chooses the names. */
function shown(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 100);
}

/** The formats start a server in different folders, so a relative path in an argument refers to a different file. */
function checkArguments(args: readonly string[]): void {
  if (args.some((argument) => /^\.{1,2}(?:$|[/\\])/.test(argument)))
    throw new Untranslatable('An argument is a relative path');
}

/**
 * Claude Code documents no working directory: servers that Agent Plugins starts in the plugin's folder are translated,
 * those in other folders are not.
 */
function toClaude(config: unknown): object {
  const server = serverOf(config);
  if (server.kind === 'remote') {
    for (const [, value] of server.headers)
      if (value.includes('${')) throw new Untranslatable(`Claude Code would expand ${variableIn(value)}`);
    const { type, url, headers } = server;
    return { type: type === 'sse' ? 'sse' : 'http', url, ...membersOf('headers', headers) };
  }
  const { command, args, env, cwd } = server;
  if (cwd !== undefined && !['./', '${PLUGIN_ROOT}', '${PLUGIN_ROOT}/'].includes(cwd))
    throw new Untranslatable('Claude Code has no working directory');
  checkArguments(args);
  if (env.some(([name]) => PORTABLE_ENVIRONMENT.includes(name)))
    throw new Untranslatable('Agent Plugins does not allow a variable in its `env`');
  return {
    type: 'stdio',
    command: isBare(command) ? command : `\${CLAUDE_PLUGIN_ROOT}/${pathBelowPlugin(command)}`,
    args: args.map((argument) => withFolders(argument, 'toClaude')),
    env: {
      ...Object.fromEntries(env.map(([name, value]) => [name, withFolders(value, 'toClaude')])),
      PLUGIN_ROOT: '${CLAUDE_PLUGIN_ROOT}',
      PLUGIN_DATA: '${CLAUDE_PLUGIN_DATA}',
    },
  };
}

function toPortable(config: unknown): object {
  const server = serverOf(config);
  if (server.kind === 'remote') {
    const { type, url, headers } = server;
    for (const [, value] of headers)
      if (value.includes('${')) throw new Untranslatable(`Agent Plugins has no ${variableIn(value)}`);
    return { type, url, ...membersOf('headers', headers) };
  }
  const { command, args, env, cwd } = server;
  if (cwd !== undefined) throw new Untranslatable('Claude Code documents no `cwd`');
  checkArguments(args);
  const own = env.filter(
    ([name, value]) => !(PORTABLE_ENVIRONMENT.includes(name) && value === `\${CLAUDE_${name}}`),
  );
  if (own.some(([name]) => PORTABLE_ENVIRONMENT.includes(name)))
    throw new Untranslatable('Agent Plugins itself sets a variable in its `env`');
  const root = '${CLAUDE_PLUGIN_ROOT}/';
  return {
    type: 'stdio',
    command: command.startsWith(root)
      ? `./${pathBelowPlugin(`./${command.slice(root.length)}`)}`
      : bareCommand(command),
    args: args.map((argument) => withFolders(argument, 'toPortable')),
    env: {
      ...Object.fromEntries(own.map(([name, value]) => [name, withFolders(value, 'toPortable')])),
      CLAUDE_PLUGIN_ROOT: '${PLUGIN_ROOT}',
      CLAUDE_PLUGIN_DATA: '${PLUGIN_DATA}',
    },
  };
}

function membersOf(key: string, named: readonly (readonly [string, string])[]): object {
  return named.length === 0 ? {} : { [key]: Object.fromEntries(named) };
}

/** Agent Plugins §7.2.1: one executable that the platform finds, not a path or a shell command line. */
function isBare(command: string): boolean {
  return /^[^\s/\\$"'`]+$/.test(command) && command !== '.' && command !== '..';
}

function bareCommand(command: string): string {
  if (!isBare(command))
    throw new Untranslatable('Its `command` is neither one program nor a file of the plugin');
  return command;
}

/** @throws Untranslatable unless the command is a file below the plugin. */
function pathBelowPlugin(command: string): string {
  const path = command.startsWith('./') ? command.slice(2) : '';
  if (path === '' || path.includes('$') || path.split(/[/\\]/).includes('..'))
    throw new Untranslatable('Its `command` is neither one program nor a file of the plugin');
  return path;
}
