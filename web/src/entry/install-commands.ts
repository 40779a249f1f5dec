import type { Entry } from './install-values.js';

/** The places in which Claude Code stores a server: https://code.claude.com/docs/en/mcp#mcp-installation-scopes. */
export const CLAUDE_SCOPES = {
  user: 'For me, everywhere',
  local: 'For me, in this project',
  project: 'For everybody in this project',
} as const;
export type ClaudeScope = keyof typeof CLAUDE_SCOPES;

/**
 * Returns `claude mcp add …` for a POSIX shell. Removes an existing server with this name first, because Claude Code
 * refuses to replace it.
 *
 * @returns undefined if the command cannot express the entry or would contain invisible characters.
 */
export function claudeCommand(name: string, entry: Entry, scope: ClaudeScope): string | undefined {
  const { type, url } = entry;
  const options = ['--scope', scope];
  const program = programOf(entry);
  const environment = pairs(entry['env']).flatMap(([variable, value]) => ['--env', `${variable}=${value}`]);
  const headers = pairs(entry['headers']).flatMap(([header, value]) => ['--header', `${header}: ${value}`]);
  const words =
    typeof url === 'string'
      ? [...options, '--transport', String(type), name, url, ...headers]
      : // `--env` takes all words up to the next option.
        program && [...options, ...environment, '--transport', 'stdio', name, '--', ...program];
  const add = words && commandLine(['claude', 'mcp', 'add', ...words]);
  const remove = commandLine(['claude', 'mcp', 'remove', ...options, name]);
  return add === undefined ? undefined : `${remove ?? ''} 2>/dev/null\n${add}`;
}

/**
 * Returns `codex mcp add …` for a POSIX shell, which replaces an existing server with this name.
 *
 * @returns undefined if the command cannot express the entry or would contain invisible characters.
 */
export function codexCommand(name: string, entry: Entry): string | undefined {
  const { url, bearer_token_env_var: token, ...more } = entry;
  const words = ['codex', 'mcp', 'add', name];
  if (typeof url === 'string') {
    if (Object.keys(more).length > 0) return undefined;
    const tokenWords = typeof token === 'string' ? ['--bearer-token-env-var', token] : [];
    return commandLine([...words, '--url', url, ...tokenWords]);
  }
  const program = programOf(entry);
  if (!program) return undefined;
  const environment = pairs(entry['env']).flatMap(([variable, value]) => ['--env', `${variable}=${value}`]);
  return commandLine([...words, ...environment, '--', ...program]);
}

/** Registries of an organization often have private addresses, which ToolHive refuses without the option. */
export function toolhiveRegistry(url: string): string | undefined {
  return commandLine(['thv', 'config', 'set-registry', url, '--allow-private-ip']);
}

/**
 * Returns `thv run …` for a POSIX shell, with the registry in which ToolHive looks up the server. Removes an existing
 * workload with this name first, because ToolHive refuses to replace it.
 *
 * @param environment values of the server's variables.
 * @returns undefined if a command would contain invisible characters.
 */
export function toolhiveCommand(
  registryUrl: string,
  server: string,
  environment: readonly (readonly [string, string])[],
): string | undefined {
  const name = shortName(server).toLowerCase();
  const variables = environment.flatMap(([variable, value]) => ['--env', `${variable}=${value}`]);
  const setRegistry = toolhiveRegistry(registryUrl);
  const run = commandLine(['thv', 'run', '--name', name, ...variables, server]);
  if (setRegistry === undefined || run === undefined) return undefined;
  return [setRegistry, `thv rm ${name} 2>/dev/null`, run].join('\n');
}

/** Returns the last segment of a name, limited to the characters that the commands accept. */
export function shortName(name: string): string {
  const segment = name.slice(name.lastIndexOf('/') + 1).replace(/[^A-Za-z0-9_-]+/g, '-');
  return segment.replace(/^-+|-+$/g, '') || 'server';
}

function programOf({ command, args }: Entry): string[] | undefined {
  if (typeof command !== 'string') return undefined;
  return [command, ...(Array.isArray(args) ? args.map(String) : [])];
}

function pairs(value: unknown): (readonly [string, string])[] {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).map(([key, each]) => [key, String(each)] as const)
    : [];
}

/** Control characters could run a command when they are pasted into a terminal; others would be invisible there. */
const UNSAFE_IN_TERMINAL = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

/** Returns the words as one line for a POSIX shell: undefined if one is unsafe in a terminal. */
export function commandLine(words: readonly string[]): string | undefined {
  return words.some((word) => UNSAFE_IN_TERMINAL.test(word)) ? undefined : words.map(quoted).join(' ');
}

function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** The location of a skill's files. */
interface Repository {
  readonly url?: string | undefined;
  readonly ref?: string | undefined;
  readonly commit?: string | undefined;
  readonly subfolder?: string | undefined;
}

/**
 * Returns the commands that copy a skill from its repository to a folder, for a POSIX shell. Running them again updates
 * the files.
 *
 * @param folder for the files of the skill: needs no quotes.
 * @returns undefined if the repository's address is not safe to use in commands.
 */
export function skillCommands(
  { url = '', ref, commit = 'HEAD', subfolder = '' }: Repository,
  folder: string,
): string | undefined {
  const segments = subfolder.split('/').filter((part) => part !== '' && part !== '.');
  // Other URLs and paths could be read as options or leave the clone.
  if (
    !/^https?:\/\//i.test(url) ||
    segments.includes('..') ||
    [ref, commit].some((word) => word?.startsWith('-'))
  )
    return undefined;
  const clone = commandLine(['git', 'clone', ...(ref === undefined ? [] : ['--branch', ref]), url]);
  const tree = commandLine([`${commit}:${segments.join('/')}`]);
  if (clone === undefined || tree === undefined) return undefined;
  return [
    'source=$(mktemp -d)',
    `${clone} "$source"`,
    `mkdir -p ${folder}`,
    `git -C "$source" archive ${tree} | tar -xf - -C ${folder}`,
  ].join('\n');
}
