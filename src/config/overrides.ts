import { isObject } from '../json/json-values.js';
import { scalarsOf } from '../validation/class-validation.js';
import { below, formatPath, type Issue, issue, nearest, type Path } from '../validation/value-checks.js';
import { ConfigFile } from './config-file.dto.js';

/** Variables without a counterpart in the file. */
const ENVIRONMENT_ONLY = [
  'REGISTRY_DATA_DIR',
  'REGISTRY_INSECURE_URLS',
  'REGISTRY_KUBECONFIG',
  'REGISTRY_COMMIT',
  'REGISTRY_BUILD_DATE',
];

/** Sections and settings that variables cannot override (reference/configuration). */
const FILE_ONLY = ['adminAllowPrivateIP', 'web'];

const OVERRIDABLE = scalarsOf(ConfigFile).filter(({ path }) => !FILE_ONLY.includes(path[0] ?? ''));

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
  return [...VARIABLES].flatMap(([name, { path, kind }]): Override[] => {
    const text = environment[name];
    if (text === undefined || text === '') return [];
    if (kind === 'number' && /^\d+(\.\d+)?$/.test(text)) return [{ path, value: Number(text), setBy: name }];
    if (kind === 'flag' && /^(true|false)$/.test(text))
      return [{ path, value: text === 'true', setBy: name }];
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
