import { isObject, member, textMember } from '../json/json-values.js';
import { checkEnvironmentNames, connectionsOf, isPackageOf, type ServerConnection } from './connections.js';
import { type Launcher, RUNTIME_FLAGS } from './launcher-inputs.js';
import { Inexpressible, TextLimit } from './template.js';

/** A server that a plugin starts, as one of its files configures it. */
export interface PluginServer {
  readonly name: string;
  readonly config: object;
  /** Set if something in its file could not be read reliably; such a server is in no allow-list. */
  readonly isUncertain?: boolean;
}

/** A version of a plugin, with the servers that it starts. */
export interface PluginVersion {
  /** `namespace/name`. */
  readonly name: string;
  readonly version: string;
  readonly servers: readonly PluginServer[];
}

/**
 * Returns the connection of a plugin's server for an allow-list (reference/client-config). It follows the rules for published
 * packages: a launcher with flags from its list, one package, and variables that no launcher reads.
 *
 * @throws Inexpressible
 */
export function allowedConnection({ config, isUncertain }: PluginServer): ServerConnection {
  if (isUncertain) throw new Inexpressible('uncertain');
  if (textMember(config, 'url') !== undefined) return remoteConnection(config);
  const connection = commandConnection(config);
  const [command = '', ...args] = commandWords(config);
  if (!isLauncher(command)) throw new Inexpressible('no_launcher');
  if (!isPackageOf(command, packageAfterFlags(command, args))) throw new Inexpressible('invalid_package');
  checkEnvironmentNames(Object.keys(environmentOf(config)));
  return connection;
}

/**
 * Returns all connections of a plugin's server for a deny-list, because clients differ in how they read a server with
 * both a URL and a command. Each connection is created when its function is called, which may throw `Inexpressible`.
 */
export function startedConnections({ config }: PluginServer): readonly (() => ServerConnection)[] {
  const url = member(config, 'url');
  const hasCommand = url === undefined || member(config, 'command') !== undefined;
  return [
    // A deny-list does not depend on the transport.
    ...(url === undefined ? [] : [() => remoteConnection({ url })]),
    ...(hasCommand ? [() => commandConnection(config)] : []),
  ];
}

function commandConnection(config: object): ServerConnection {
  const [command = '', ...args] = commandWords(config);
  if (command === '') throw new Inexpressible('no_connection');
  return { kind: 'command', command, args: args.map((argument) => [argument]), environment: [] };
}

const TRANSPORTS: Readonly<Record<string, string>> = {
  http: 'streamable-http',
  'streamable-http': 'streamable-http',
  sse: 'sse',
};

function remoteConnection(config: object): ServerConnection {
  const written = textMember(config, 'type') ?? 'http';
  const type = Object.hasOwn(TRANSPORTS, written) ? TRANSPORTS[written] : undefined;
  if (type === undefined) throw new Inexpressible('unsupported_remote');
  const url = textMember(config, 'url') ?? '';
  // Clients expand anything that looks like a variable.
  if (url.includes('$')) throw new Inexpressible('variable_reference');
  const [connect] = connectionsOf({ remotes: [{ type, url }] }, new TextLimit());
  if (!connect) throw new Inexpressible('no_connection');
  return connect();
}

/** @throws Inexpressible unless the command and its arguments are text. */
function commandWords(config: object): string[] {
  const words = [textMember(config, 'command') ?? '', ...listOf(member(config, 'args'))];
  return words.map((word) => {
    if (typeof word !== 'string') throw new Inexpressible('no_connection');
    return word;
  });
}

function listOf(value: unknown): unknown[] {
  if (value === undefined) return [];
  // Clients refuse such a server, or interpret it differently.
  if (!Array.isArray(value)) throw new Inexpressible('no_connection');
  return value;
}

function environmentOf(config: object): object {
  const env = member(config, 'env') ?? {};
  if (!isObject(env)) throw new Inexpressible('invalid_environment_variable');
  return env;
}

function isLauncher(command: string): command is Launcher {
  return Object.hasOwn(RUNTIME_FLAGS, command);
}

/**
 * Returns the package that a launcher starts.
 *
 * @throws Inexpressible for any argument before it that could make the launcher start something else.
 */
function packageAfterFlags(command: Launcher, args: readonly string[]): string {
  const flags: readonly string[] = RUNTIME_FLAGS[command];
  const rest = [...args];
  if (command === 'docker' && rest.shift() !== 'run') throw new Inexpressible('unsafe_runtime_argument');
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (!word.startsWith('-')) {
      // `dnx` even reads options after the package, up to `--`.
      const options =
        command === 'dnx' ? rest.slice(0, rest.includes('--') ? rest.indexOf('--') : rest.length) : [];
      if (options.some((option) => !flags.includes(option)))
        throw new Inexpressible('unsafe_runtime_argument');
      return word;
    }
    const variable = command === 'docker' ? containerVariable(word, rest) : undefined;
    if (variable !== undefined) checkEnvironmentNames([variable]);
    else if (!flags.includes(word)) throw new Inexpressible('unsafe_runtime_argument');
  }
  throw new Inexpressible('invalid_package');
}

/** Returns the name of the variable that an option of `docker run` sets; undefined for other options. */
function containerVariable(option: string, rest: string[]): string | undefined {
  const [, inline] = /^--env=(.*)$/s.exec(option) ?? [];
  const assignment = inline ?? (option === '-e' || option === '--env' ? (rest.shift() ?? '') : undefined);
  return assignment?.split('=', 1)[0];
}
