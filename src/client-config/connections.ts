import { fullFormats } from 'ajv-formats/dist/formats.js';
import { elements, isObject, member, textMember } from '../json/json-values.js';
import { isReadByLaunchers, type Launcher, RUNTIME_FLAGS } from './launcher-inputs.js';
import {
  fill,
  Inexpressible,
  isOpen,
  type Template,
  templateOf,
  type TextLimit,
  textOf,
  withInputsAs,
} from './template.js';

/** A header or an environment variable. */
export interface NamedTemplate {
  readonly name: string;
  readonly value: Template;
}

/** A remote server, reached over HTTP. */
export interface RemoteConnection {
  readonly kind: 'remote';
  readonly transport: 'http' | 'sse';
  readonly url: Template;
  readonly headers: readonly NamedTemplate[];
}

/** A server that the client starts and connects to over stdio. */
interface CommandConnection {
  readonly kind: 'command';
  /** A launcher, or another program if a plugin starts it. */
  readonly command: string;
  readonly args: readonly Template[];
  readonly environment: readonly NamedTemplate[];
}

/** How a client connects to a server, in a client-independent form. */
export type ServerConnection = RemoteConnection | CommandConnection;

type Package = Readonly<Record<string, unknown>>;

/** How to run packages from one kind of package registry. */
interface PackageType {
  readonly command: Launcher;
  /** Values of `runtimeHint` that mean the launcher: itself, and runtimes and installers of the package type. */
  readonly hints: readonly string[];
  /** The default registry, in the spellings found in documents. */
  readonly registries: readonly string[];
  readonly identifier: RegExp;
  readonly version: RegExp;
  readonly argumentsFor: (run: PackageRun) => readonly Template[];
}

interface PackageRun {
  readonly identifier: string;
  readonly version: string | undefined;
  /** Each is one of the launcher's `RUNTIME_FLAGS`. */
  readonly runtimeArguments: readonly Template[];
  readonly packageArguments: readonly Template[];
  readonly environment: readonly NamedTemplate[];
}

/** Excludes options, paths, URLs and aliases, which package managers accept instead of a version. */
const PLAIN_VERSION = /^[0-9A-Za-z][0-9A-Za-z.+_-]*$/;
/** `npx` and `uvx` treat a name or version that ends like an archive as a file in the working directory. */
const ARCHIVE = /\.(tgz|tbz|txz|tlz|tar(\.[a-z0-9]+)?|zip|whl)$/i;

/**
 * The command, valid identifiers and valid versions of each package type. Without these checks, package managers would
 * also accept options, paths and URLs. Package arguments follow the package, where no launcher reads options; `dnx` needs
 * `--` before them.
 *
 * npm: https://docs.npmjs.com/cli/v11/commands/npx (`-y`, because nobody can answer the prompt).
 * pypi: https://docs.astral.sh/uv/guides/tools/. oci: https://docs.docker.com/reference/cli/docker/container/run/.
 * nuget: https://learn.microsoft.com/dotnet/core/tools/dotnet-tool-exec.
 * No supported client can install mcpb packages, which are bundles for the client to unpack.
 */
const PACKAGE_TYPES = new Map<string, PackageType>(
  Object.entries<PackageType>({
    npm: {
      command: 'npx',
      hints: ['npx', 'node', 'npm'],
      registries: ['https://registry.npmjs.org'],
      identifier: /^(@[a-z0-9~][a-z0-9._~-]*\/)?[a-z0-9~][a-z0-9._~-]*$/i,
      version: PLAIN_VERSION,
      argumentsFor: ({ identifier, version, runtimeArguments, packageArguments }) => [
        ...(has(runtimeArguments, '-y', '--yes') ? [] : [['-y']]),
        ...runtimeArguments,
        [version === undefined ? identifier : `${identifier}@${version}`],
        ...packageArguments,
      ],
    },
    pypi: {
      command: 'uvx',
      hints: ['uvx', 'python', 'python3', 'pip', 'uv'],
      registries: ['https://pypi.org', 'https://pypi.org/simple'],
      // `uvx python` runs the interpreter, not a package.
      identifier:
        /^(?!(c?pythonw?|pypy|pyodide|graalpy|graalpython)[0-9.]*$)[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/i,
      version: PLAIN_VERSION,
      argumentsFor: ({ identifier, version, runtimeArguments, packageArguments }) => [
        ...runtimeArguments,
        [version === undefined ? identifier : `${identifier}@${version}`],
        ...packageArguments,
      ],
    },
    oci: {
      command: 'docker',
      hints: ['docker', 'podman'],
      registries: ['https://docker.io', 'https://index.docker.io', 'https://registry-1.docker.io'],
      // https://github.com/distribution/reference: host and port, path, tag, digest.
      identifier:
        /^([a-z0-9][a-z0-9.-]*(:\d+)?\/)?[a-z0-9]+([._-]+[a-z0-9]+)*(\/[a-z0-9]+([._-]+[a-z0-9]+)*)*(:\w[\w.-]*)?(@sha256:[a-f0-9]{64})?$/i,
      version: /^(\w[\w.-]*|sha256:[a-f0-9]{64})$/,
      argumentsFor: ({ identifier, version, runtimeArguments, packageArguments, environment }) => [
        ...[['run'], ['-i'], ['--rm']],
        ...runtimeArguments.filter((argument) => !has([argument], '-i', '--rm')),
        ...environment.flatMap((variable) => [['-e'], environmentArgument(variable)]),
        [imageOf(identifier, version)],
        ...packageArguments,
      ],
    },
    nuget: {
      command: 'dnx',
      hints: ['dnx'],
      registries: ['https://api.nuget.org', 'https://api.nuget.org/v3/index.json', 'https://www.nuget.org'],
      identifier: /^[a-z0-9_][a-z0-9._-]*$/i,
      version: PLAIN_VERSION,
      argumentsFor: ({ identifier, version, runtimeArguments, packageArguments }) => [
        [version === undefined ? identifier : `${identifier}@${version}`],
        ...(has(runtimeArguments, '-y', '--yes') ? [] : [['--yes']]),
        ...runtimeArguments,
        ...(packageArguments.length > 0 ? [['--'], ...packageArguments] : []),
      ],
    },
  }),
);

/** A POSIX variable name: IEEE Std 1003.1-2017 §8.1. */
const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Returns the command that runs a package (reference/client-config), from its `runtimeArguments`, `packageArguments` and
 * `environmentVariables`.
 *
 * @throws Inexpressible
 */
function packageConnection(document: Package, limit: TextLimit): CommandConnection {
  const type = PACKAGE_TYPES.get(textMember(document, 'registryType') ?? '');
  if (!type) throw new Inexpressible('unsupported_registry_type');
  if (textMember(member(document, 'transport'), 'type') !== 'stdio')
    throw new Inexpressible('unsupported_transport');
  const base = textMember(document, 'registryBaseUrl')?.replace(/\/$/, '');
  if (base !== undefined && !type.registries.includes(base))
    throw new Inexpressible('custom_package_registry');
  const identifier = textMember(document, 'identifier') ?? '';
  const version = textMember(document, 'version');
  if (!isValid(type, identifier, version)) throw new Inexpressible('invalid_package');
  const hint = textMember(document, 'runtimeHint');
  if (hint !== undefined && !type.hints.includes(hint)) throw new Inexpressible('unsupported_runtime');
  const runtimeArguments = flagsOf(document['runtimeArguments'], type.command, limit);
  const environment = environmentOf(document['environmentVariables'], limit);
  const packageArguments = argumentsOf(document['packageArguments'], limit);
  const run = { identifier, version, runtimeArguments, packageArguments, environment };
  return {
    kind: 'command',
    command: type.command,
    args: type.argumentsFor(run),
    environment: type.command === 'docker' ? environment.filter(({ value }) => isOpen(value)) : environment,
  };
}

/**
 * Returns whether a launcher finds exactly one package by this argument: a name, and perhaps a version after `@`.
 *
 * @param text the package as an argument of the launcher.
 */
export function isPackageOf(launcher: Launcher, text: string): boolean {
  const type = [...PACKAGE_TYPES.values()].find(({ command }) => command === launcher);
  // Images contain their tag and digest.
  const at = launcher === 'docker' ? -1 : text.lastIndexOf('@');
  const [identifier, version] = at > 0 ? [text.slice(0, at), text.slice(at + 1)] : [text, undefined];
  return type !== undefined && isValid(type, identifier, version);
}

function isValid(type: PackageType, identifier: string, version: string | undefined): boolean {
  const readsArchives = type.command === 'npx' || type.command === 'uvx';
  if (readsArchives && [identifier, version ?? ''].some((text) => ARCHIVE.test(text))) return false;
  return type.identifier.test(identifier) && (version === undefined || type.version.test(version));
}

/**
 * Returns the runtime arguments of a package.
 *
 * @throws Inexpressible for any argument outside the launcher's `RUNTIME_FLAGS`, even one that has no value yet.
 */
function flagsOf(list: unknown, launcher: Launcher, limit: TextLimit): readonly Template[] {
  const allowed: readonly string[] = RUNTIME_FLAGS[launcher];
  return elements(list).flatMap((argument) => {
    const written = argumentsOf([argument], limit);
    const isFlag =
      written.length === 1 && written.every((one) => !isOpen(one) && allowed.includes(textOf(one)));
    if (!isFlag) throw new Inexpressible('unsafe_runtime_argument');
    return written;
  });
}

function argumentsOf(list: unknown, limit: TextLimit): readonly Template[] {
  return elements(list).flatMap((argument): Template[] => {
    const flag = textMember(argument, 'type') === 'named' ? textMember(argument, 'name') : undefined;
    limit.take(flag?.length ?? 0);
    const hasValue = ['value', 'default'].some((key) => textMember(argument, key) !== undefined);
    const isRequired = member(argument, 'isRequired') === true;
    // Flags need no value; optional arguments without a value are omitted.
    if (!hasValue && !isRequired) return flag === undefined || expectsValue(argument) ? [] : [[flag]];
    const value = templateOf(argument, flag ?? textMember(argument, 'valueHint') ?? 'argument', limit);
    return flag === undefined ? [value] : [[flag], value];
  });
}

// A named argument with a hint about its value is not a plain flag.
function expectsValue(argument: unknown): boolean {
  return ['valueHint', 'placeholder', 'choices', 'format'].some((key) => member(argument, key) !== undefined);
}

function environmentOf(list: unknown, limit: TextLimit): readonly NamedTemplate[] {
  const variables = elements(list).map((variable) => ({
    variable,
    name: textMember(variable, 'name') ?? '',
  }));
  checkEnvironmentNames(variables.map(({ name }) => name));
  return variables.map(({ variable, name }) => {
    limit.take(name.length);
    return { name, value: templateOf(variable, name, limit) };
  });
}

/** @throws Inexpressible for names that are invalid, occur twice, or are read by launchers. */
export function checkEnvironmentNames(names: readonly string[]): void {
  for (const [index, name] of names.entries()) {
    if (!VARIABLE_NAME.test(name) || names.indexOf(name) < index)
      throw new Inexpressible('invalid_environment_variable');
    if (isReadByLaunchers(name)) throw new Inexpressible('unsafe_environment_variable');
  }
}

// Fixed text is set only inside the container; `docker` passes user input on from its own environment.
function environmentArgument({ name, value }: NamedTemplate): Template {
  return isOpen(value) ? [name] : [`${name}=${textOf(value)}`];
}

function imageOf(identifier: string, version: string | undefined): string {
  const hasVersion =
    identifier.includes('@') || identifier.slice(identifier.lastIndexOf('/') + 1).includes(':');
  if (version === undefined || hasVersion) return identifier;
  return `${identifier}${version.startsWith('sha256:') ? '@' : ':'}${version}`;
}

function has(args: readonly Template[], ...flags: readonly string[]): boolean {
  return args.some(([first]) => typeof first === 'string' && flags.includes(first));
}

/** RFC 9110 §5.6.2, `token`. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** RFC 9110 §5.5: characters not allowed in a header value. */
const NOT_IN_HEADER = /[^\t\x20-\x7e\x80-\xff]/;

/** The maximum number of connections tried per document. Most documents have one or two. */
const MAX_CONNECTIONS = 50;

/**
 * Returns the connections of a server document, best first: remotes before packages, streamable HTTP before SSE. Each
 * connection is created when its function is called.
 *
 * @param limit shared by all connections.
 */
export function connectionsOf(document: unknown, limit: TextLimit): (() => ServerConnection)[] {
  const remotes = elements(member(document, 'remotes')).filter(isObject);
  const packages = elements(member(document, 'packages')).filter(isObject);
  return [
    ...['streamable-http', 'sse']
      .flatMap((type) => remotes.filter((remote) => remote['type'] === type))
      .map((remote) => () => remoteConnection(remote, limit)),
    ...packages.map((item) => () => packageConnection(item, limit)),
  ].slice(0, MAX_CONNECTIONS);
}

function remoteConnection(remote: Readonly<Record<string, unknown>>, limit: TextLimit): RemoteConnection {
  return {
    kind: 'remote',
    transport: remote['type'] === 'sse' ? 'sse' : 'http',
    url: urlOf(remote, limit),
    headers: headersOf(remote['headers'], limit),
  };
}

function urlOf(remote: Readonly<Record<string, unknown>>, limit: TextLimit): Template {
  const url = fill(textMember(remote, 'url') ?? '', remote['variables'], limit);
  // The scheme must not be user input.
  const [first] = url;
  const example = withInputsAs(url, 'x');
  if (typeof first !== 'string' || !/^https?:\/\//i.test(first) || !isUrl(example))
    throw new Inexpressible('invalid_url');
  return isOpen(url) ? url : [withPath(textOf(url))];
}

function isUrl(text: string): boolean {
  const { uri } = fullFormats;
  if (typeof uri !== 'function' || !uri(text) || !URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username === '' && password === '';
}

// A URL without a path matches any path in an allow-list.
function withPath(url: string): string {
  const [, authority = '', rest = ''] = /^(https?:\/\/[^/?#]+)(.*)$/is.exec(url) ?? [];
  return rest.startsWith('/') ? url : `${authority}/${rest}`;
}

function headersOf(list: unknown, limit: TextLimit): readonly NamedTemplate[] {
  const names = new Set<string>();
  return elements(list).flatMap((header): NamedTemplate[] => {
    const name = textMember(header, 'name') ?? '';
    limit.take(name.length);
    const value = templateOf(header, name, limit);
    const [first] = value;
    // An optional header without a value would be sent empty.
    if (value.length === 1 && typeof first === 'object' && !first.isRequired && !first.isSecret) return [];
    const isValid =
      HEADER_NAME.test(name) && !names.has(name.toLowerCase()) && !NOT_IN_HEADER.test(textOf(value));
    if (!isValid) throw new Inexpressible('invalid_header');
    names.add(name.toLowerCase());
    return [{ name, value }];
  });
}

const REMOTES = new Set(['streamable-http', 'sse']);

/**
 * Returns whether `thv run NAME` can run a server of a registry: ToolHive connects to remotes and starts OCI images,
 * even those that listen on a port (https://docs.stacklok.com/toolhive/guides-cli/run-mcp-servers).
 */
export function runsInToolHive(document: unknown): boolean {
  return (
    elements(member(document, 'remotes')).some((remote) => REMOTES.has(textMember(remote, 'type') ?? '')) ||
    elements(member(document, 'packages')).some((each) => textMember(each, 'registryType') === 'oci')
  );
}
