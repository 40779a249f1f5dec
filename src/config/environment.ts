import { isIPv6 } from 'node:net';
import { delimiter, resolve } from 'node:path';
import { isObject } from '../json/json-values.js';
import { below, formatPath, type Issue, issue, nearest, type Path } from '../validation/problems.js';

/** The one place that reads the environment of the process; everything else is handed what it needs. */
export function readEnvironment(): NodeJS.ProcessEnv {
  return process.env;
}

/** What this build was made from; the image sets the variables. */
export function buildReport(environment = readEnvironment()): {
  commit: string | undefined;
  date: string | undefined;
} {
  return {
    commit: environment['REGISTRY_COMMIT'] || undefined,
    date: environment['REGISTRY_BUILD_DATE'] || undefined,
  };
}

/** Variables without a place in the file. */
const ENVIRONMENT_ONLY = [
  'REGISTRY_DATA_DIR',
  'REGISTRY_INSECURE_URLS',
  'REGISTRY_KUBECONFIG',
  'REGISTRY_COMMIT',
  'REGISTRY_BUILD_DATE',
];

/** Scalars of the file that a variable may override (contract §2). */
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
  { path: ['limits', 'keepAlive'] },
  { path: ['shutdown', 'notice'] },
];

/** `resourceUrl` is both RESOURCE_URL and RESOURCEURL: people write either. */
function variableNames(path: Path): string[] {
  const separated = path.map((step) => String(step).replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_'));
  return [...new Set([separated, path].map((steps) => `REGISTRY_${steps.join('_').toUpperCase()}`))];
}

const VARIABLES = new Map(
  OVERRIDABLE.flatMap((scalar) => variableNames(scalar.path).map((name) => [name, scalar] as const)),
);

/** A value from outside the file, and the name of what set it. */
export interface Override {
  readonly path: Path;
  readonly value: unknown;
  readonly setBy: string;
}

/** The overrides of this environment. An empty variable counts as absent, as Compose and Helm write it. */
export function overridesOf(environment: NodeJS.ProcessEnv): Override[] {
  return [...VARIABLES].flatMap(([name, { path, number, flag }]): Override[] => {
    const text = environment[name];
    if (text === undefined || text === '') return [];
    if (number && /^\d+(\.\d+)?$/.test(text)) return [{ path, value: Number(text), setBy: name }];
    if (flag && /^(true|false)$/.test(text)) return [{ path, value: text === 'true', setBy: name }];
    return [{ path, value: text, setBy: name }];
  });
}

/** Puts the overrides into a copy of the tree. A section that is no map stays as it is: its own problem is reported. */
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

/** Which variable set the value at this path, or is the reason that there is a section at all. */
export function setterOf(path: Path, overrides: readonly Override[]): string | undefined {
  const at = formatPath(path);
  const exact = overrides.find((override) => formatPath(override.path) === at);
  return exact?.setBy;
}

/** The variables that put something below this path. */
export function settersBelow(path: Path, overrides: readonly Override[]): string[] {
  return overrides.filter((o) => path.every((step, index) => o.path[index] === step)).map((o) => o.setBy);
}

/** The kubeconfig files, as absolute paths: REGISTRY_KUBECONFIG, or else what every client of a cluster reads. */
export function kubeconfigOf(environment: NodeJS.ProcessEnv): string[] {
  const files = environment['REGISTRY_KUBECONFIG'] || environment['KUBECONFIG'] || '';
  return files
    .split(delimiter)
    .filter((file) => file !== '')
    .map((file) => resolve(file));
}

/** Sentences about variables that mean nothing here: REGISTRY_…, and THV_REGISTRY_… of a ToolHive registry server. */
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
      const meant = nearest(own, known);
      return `the environment variable ${name} is not known and has no effect${meant ? `; did you mean ${meant}?` : ''}`;
    });
}

// Kubernetes tells every pod of every Service: one called "registry" or "registry-api" makes such names.
function isServiceLink(name: string, value = ''): boolean {
  if (/^REGISTRY_(\w+_)?SERVICE_(HOST|PORT(_\w+)?)$/.test(name)) return true;
  if (/^REGISTRY_(\w+_)?PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(name)) return true;
  return /^REGISTRY_(\w+_)?PORT$/.test(name) && (name === 'REGISTRY_PORT' || /^(tcp|udp|sctp):/.test(value));
}

/** REGISTRY_AUTH_OAUTH_RESOURCE_URL and …_RESOURCEURL: two answers to one question. */
export function doubleVariables(overrides: readonly Override[]): Issue[] {
  return overrides.flatMap(({ path, value, setBy }, position) => {
    const earlier = overrides.slice(0, position).find((other) => formatPath(other.path) === formatPath(path));
    return earlier && setBy.startsWith('REGISTRY_') && earlier.value !== value
      ? below([setBy], issue(`differs from ${earlier.setBy}, which means the same`))
      : [];
  });
}

/** Where to listen. Without `host`: on every interface. Port 0: any free one. */
export interface Address {
  readonly host?: string;
  readonly port: number;
}

const HOST_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/;

/**
 * `HOST:PORT`, `:PORT` (every interface) or `[IPv6]:PORT`.
 *
 * @returns undefined when the text is none of them.
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

/** Would one of them keep the other from listening? */
export function collide(one: Address, other: Address): boolean {
  if (one.port === 0 || one.port !== other.port) return false;
  return everywhere(one) || everywhere(other) || one.host === other.host;
}

function everywhere({ host }: Address): boolean {
  return host === undefined || host === '0.0.0.0' || host === '::';
}
