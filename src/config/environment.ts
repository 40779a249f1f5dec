import { isIPv6 } from 'node:net';
import { delimiter, resolve } from 'node:path';
import { isObject } from '../json/json-values.js';
import { below, formatPath, type Issue, issue, nearest, type Path } from '../validation/value-checks.js';

/** The only place that reads `process.env`. Other code receives the values as arguments. */
export function readEnvironment(): NodeJS.ProcessEnv {
  return process.env;
}

/** Returns the commit and date of this build, from variables set in the container image. */
export function buildReport(environment = readEnvironment()): {
  commit: string | undefined;
  date: string | undefined;
} {
  return {
    commit: environment['REGISTRY_COMMIT'] || undefined,
    date: environment['REGISTRY_BUILD_DATE'] || undefined,
  };
}

/** Variables without a counterpart in the file. */
const ENVIRONMENT_ONLY = [
  'REGISTRY_DATA_DIR',
  'REGISTRY_INSECURE_URLS',
  'REGISTRY_KUBECONFIG',
  'REGISTRY_COMMIT',
  'REGISTRY_BUILD_DATE',
];

/** Scalars in the file that variables can override (reference/configuration). */
const OVERRIDABLE: readonly { path: Path; number?: true; flag?: true }[] = [
  { path: ['auth', 'mode'] },
  { path: ['auth', 'oauth', 'resourceUrl'] },
  { path: ['auth', 'oauth', 'realm'] },
  { path: ['auth', 'oauth', 'resourceDocumentation'] },
  { path: ['auth', 'authz', 'policy', 'arrayValues'] },
  { path: ['auth', 'authz', 'policy', 'unlabeled'] },
  { path: ['auth', 'authz', 'policy', 'registryListing'] },
  { path: ['database', 'url'] },
  { path: ['database', 'host'] },
  { path: ['database', 'port'], number: true },
  { path: ['database', 'user'] },
  { path: ['database', 'database'] },
  { path: ['database', 'sslMode'] },
  { path: ['database', 'sslRootCertFile'] },
  { path: ['database', 'sslCertFile'] },
  { path: ['database', 'sslKeyFile'] },
  { path: ['database', 'pool', 'max'], number: true },
  { path: ['database', 'password'] },
  { path: ['database', 'passwordFile'] },
  { path: ['database', 'migrationUser'] },
  { path: ['database', 'migrationPassword'] },
  { path: ['database', 'migrationPasswordFile'] },
  { path: ['rootRegistry'] },
  { path: ['readOnly'], flag: true },
  { path: ['adminFileRoot'] },
  { path: ['adminOpenAccess'], flag: true },
  { path: ['log', 'level'] },
  { path: ['audit', 'reads'], flag: true },
  { path: ['audit', 'retention'] },
  { path: ['log', 'format'] },
  { path: ['telemetry', 'otlpEndpoint'] },
  { path: ['telemetry', 'sampleRatio'], number: true },
  { path: ['limits', 'searchesPerCaller'], number: true },
  { path: ['limits', 'requestsInFlight'], number: true },
  { path: ['limits', 'connections'], number: true },
  { path: ['limits', 'claimSetsPerSource'], number: true },
  { path: ['limits', 'mebibytesPerFile'], number: true },
  { path: ['limits', 'versionsPerEntry'], number: true },
  { path: ['limits', 'bytesPerEntry'] },
  { path: ['limits', 'publisherMeta'] },
  { path: ['limits', 'searchIndexBytes'] },
  { path: ['limits', 'apiSources'], number: true },
  { path: ['limits', 'apiRegistries'], number: true },
  { path: ['limits', 'changesPerMinute'], number: true },
  { path: ['limits', 'keepAlive'] },
  { path: ['content', 'maxBytesPerVersion'] },
  { path: ['content', 'maxBytes'] },
  { path: ['shutdown', 'notice'] },
];

/** Returns all spellings of a variable: for `resourceUrl`, RESOURCE_URL or RESOURCEURL. */
function variableNames(path: Path): string[] {
  const separated = path.map((step) => String(step).replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_'));
  return [...new Set([separated, path].map((steps) => `REGISTRY_${steps.join('_').toUpperCase()}`))];
}

const VARIABLES = new Map(
  OVERRIDABLE.flatMap((scalar) => variableNames(scalar.path).map((name) => [name, scalar] as const)),
);

/** A value from outside the file, with the variable or flag that set it. */
export interface Override {
  readonly path: Path;
  readonly value: unknown;
  readonly setBy: string;
}

/**
 * Returns the environment's overrides. Empty variables count as absent, because Compose and Helm pass missing values as
 * empty strings.
 */
export function overridesOf(environment: NodeJS.ProcessEnv): Override[] {
  return [...VARIABLES].flatMap(([name, { path, number, flag }]): Override[] => {
    const text = environment[name];
    if (text === undefined || text === '') return [];
    if (number && /^\d+(\.\d+)?$/.test(text)) return [{ path, value: Number(text), setBy: name }];
    if (flag && /^(true|false)$/.test(text)) return [{ path, value: text === 'true', setBy: name }];
    return [{ path, value: text, setBy: name }];
  });
}

/**
 * Applies the overrides to a copy of the tree. A section that is not a map stays unchanged and is reported elsewhere.
 */
export function applyOverrides(tree: unknown, overrides: readonly Override[]): unknown {
  return overrides.reduce((result, { path, value }) => withValue(result, path, value), tree);
}

function withValue(tree: unknown, [step, ...rest]: Path, value: unknown): unknown {
  if (step === undefined) return value;
  if (tree !== undefined && !isObject(tree)) return tree;
  const members = new Map(Object.entries(tree ?? {}));
  members.set(String(step), withValue(members.get(String(step)), rest, value));
  return Object.fromEntries(members);
}

/** Returns the variable or flag that set the value at this path. */
export function setterOf(path: Path, overrides: readonly Override[]): string | undefined {
  const at = formatPath(path);
  const exact = overrides.find((override) => formatPath(override.path) === at);
  return exact?.setBy;
}

/** Returns the variables and flags that set values below this path. */
export function settersBelow(path: Path, overrides: readonly Override[]): string[] {
  return overrides.filter((o) => path.every((step, index) => o.path[index] === step)).map((o) => o.setBy);
}

/** Returns the absolute paths of the kubeconfig files from REGISTRY_KUBECONFIG, or else KUBECONFIG. */
export function kubeconfigOf(environment: NodeJS.ProcessEnv): string[] {
  const files = environment['REGISTRY_KUBECONFIG'] || environment['KUBECONFIG'] || '';
  return files
    .split(delimiter)
    .filter((file) => file !== '')
    .map((file) => resolve(file));
}

/**
 * Warns about unknown REGISTRY_… variables, and about THV_REGISTRY_… variables, which ToolHive's registry server reads.
 */
export function unknownVariables(environment: NodeJS.ProcessEnv): string[] {
  const known = [...VARIABLES.keys(), ...ENVIRONMENT_ONLY];
  return Object.keys(environment)
    .sort()
    .map((name) => ({ name, own: name.replace(/^THV_/, '') }))
    .filter(
      ({ name, own }) =>
        own.startsWith('REGISTRY_') && !known.includes(name) && !isServiceLink(own, environment[name]),
    )
    .map(({ name, own }) => {
      const suggestion = nearest(own, known);
      return `the environment variable ${name} is unknown and has no effect${suggestion ? `; did you mean ${suggestion}?` : ''}`;
    });
}

// Kubernetes sets such variables in every pod for Services called "registry" or "registry-…".
function isServiceLink(name: string, value = ''): boolean {
  if (/^REGISTRY_(\w+_)?SERVICE_(HOST|PORT(_\w+)?)$/.test(name)) return true;
  if (/^REGISTRY_(\w+_)?PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(name)) return true;
  return /^REGISTRY_(\w+_)?PORT$/.test(name) && (name === 'REGISTRY_PORT' || /^(tcp|udp|sctp):/.test(value));
}

/** Refuses different values for two spellings of a variable, such as …_RESOURCE_URL and …_RESOURCEURL. */
export function doubleVariables(overrides: readonly Override[]): Issue[] {
  return overrides.flatMap(({ path, value, setBy }, position) => {
    const earlier = overrides.slice(0, position).find((other) => formatPath(other.path) === formatPath(path));
    return earlier && setBy.startsWith('REGISTRY_') && earlier.value !== value
      ? below([setBy], issue(`differs from ${earlier.setBy}, which means the same`))
      : [];
  });
}

/** The address to listen on. Without `host`, the server listens on every interface. Port 0 means any free port. */
export interface Address {
  readonly host?: string;
  readonly port: number;
}

const HOST_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/;

/**
 * Parses `HOST:PORT`, `:PORT` (every interface) or `[IPv6]:PORT`.
 *
 * @returns undefined for any other text.
 */
export function parseAddress(text: string): Address | undefined {
  const match = /^(?:\[([^\]]*)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  if (!match) return undefined;
  const [, bracketed, plain] = match;
  const port = Number(match[3]);
  if (port > 65_535) return undefined;
  if (bracketed !== undefined) return isIPv6(bracketed) ? { host: bracketed, port } : undefined;
  if (plain === undefined || plain === '') return { port };
  return HOST_NAME.test(plain) ? { host: plain, port } : undefined;
}

/** Returns whether the addresses conflict, so that the server cannot listen on both. */
export function collide(one: Address, other: Address): boolean {
  if (one.port === 0 || one.port !== other.port) return false;
  return everywhere(one) || everywhere(other) || one.host === other.host;
}

function everywhere({ host }: Address): boolean {
  return host === undefined || host === '0.0.0.0' || host === '::';
}
