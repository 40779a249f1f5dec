import { realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Address, collide, parseAddress } from './address.js';
import type { Config, Flags } from './config.js';
import { ConfigFile } from './config-file.dto.js';
import { readConfigText } from './yaml/read-text.js';
import { crossIssues } from './rules/cross-rules.js';
import { toolhiveKeys, TOOLHIVE_FILE } from './rules/toolhive-keys.js';
import { openRegistryWarnings, publishWarnings } from './rules/open-registries.js';
import { sharedClaims, withoutEffect } from './rules/warnings.js';
import { parseDatabaseUrl } from './database/database-url.js';
import {
  applyOverrides,
  kubeconfigOf,
  type Override,
  overridesOf,
  setterOf,
  settersBelow,
  unknownVariables,
} from './environment.js';
import { freeze } from './freeze.js';
import { telemetryOf } from './opentelemetry/telemetry-config.js';
import { formatPath, type Path } from '../validation/path.js';
import {
  below,
  ConfigurationError,
  type Issue,
  issue,
  type Locator,
  type Problem,
  problemsOf,
} from '../validation/problems.js';
import { proxyOf } from './proxy/proxy-variables.js';
import { readReferencedFiles } from './referenced-files.js';
import { resolveConfig } from './resolve-config.js';
import { checkShape, type Unchecked } from '../validation/class-checks.js';
import { elements, member } from '../json/members.js';
import { parseYaml } from './yaml/yaml-tree.js';

export interface LoadedConfig {
  readonly config: Config;
  /** Sentences for the operator; nothing is wrong enough to stop. */
  readonly warnings: string[];
}

/**
 * File, environment and flags → one `Config`, or a refusal that lists everything that is wrong.
 *
 * Flags win over variables, variables over the file. Starts and writes nothing.
 *
 * @throws ConfigurationError, the only error it throws for what an operator can get wrong.
 */
export function loadConfig(file: string, environment: NodeJS.ProcessEnv, flags: Flags): LoadedConfig {
  const { tree, lines } = parseYaml(readConfigText(file), file);
  const overrides = [...overridesOf(environment), ...modeFlag(flags)];
  const locator = locate(lines, overrides);
  const { value, issues } = checkShape(ConfigFile, applyOverrides(tree, overrides));
  const foreign = toolhiveKeys(tree);
  const insecureUrls = environment['REGISTRY_INSECURE_URLS'] === 'true';
  const directory = dirname(resolve(file));
  const referenced = readReferencedFiles(value, directory);
  const outside = readOutside(environment, flags);
  const proxies = proxyOf(environment);
  refuse(
    [
      ...foreign,
      ...withoutSamePaths(issues, foreign),
      ...crossIssues(value, insecureUrls),
      ...referenced.issues,
      ...adminFileRoots(value),
      ...doubleVariables(overrides),
      ...outside.issues,
      ...proxies.issues,
    ],
    locator,
    foreign.length > 0 ? [{ path: file, message: TOOLHIVE_FILE }] : [],
  );
  const telemetry = telemetryOf(value.telemetry, environment);
  const config: Config = {
    ...resolveConfig(value, { directory, contents: referenced.contents }),
    dataDirectory: resolve(environment['REGISTRY_DATA_DIR'] || './data'),
    kubeconfig: kubeconfigOf(environment),
    addresses: outside.addresses,
    telemetry: telemetry.config,
    insecureUrls,
    proxy: proxies.proxy,
  };
  return {
    config: freeze(config),
    warnings: [
      ...unknownVariables(environment),
      ...unusedParameters(value),
      ...referenced.warnings,
      ...telemetry.warnings,
      ...sharedClaims(config),
      ...withoutEffect(config),
      ...openRegistryWarnings(config, Date.now()),
      ...publishWarnings(config),
    ],
  };
}

/** @param before what is said of the file as a whole. */
function refuse(issues: readonly Issue[], locator: Locator, before: readonly Problem[]): void {
  if (issues.length > 0) throw new ConfigurationError([...before, ...problemsOf(issues, locator)]);
}

// Of a key that is not known, what to do about it is said in place of that.
function withoutSamePaths(issues: readonly Issue[], others: readonly Issue[]): Issue[] {
  const paths = new Set(others.map(({ path }) => formatPath(path)));
  return issues.filter(({ path }) => !paths.has(formatPath(path)));
}

function modeFlag({ authMode }: Flags): Override[] {
  return authMode === undefined ? [] : [{ path: ['auth', 'mode'], value: authMode, setBy: '--auth-mode' }];
}

// A member that is not in the file is looked for on the line of the section that lacks it.
function locate(lines: ReadonlyMap<string, number>, overrides: readonly Override[]): Locator {
  return {
    find: (path: Path) => {
      const setBy = setterOf(path, overrides);
      if (setBy !== undefined) return { setBy };
      for (let length = path.length; length >= 0; length--) {
        const above = path.slice(0, length);
        const line = lines.get(formatPath(above));
        if (line !== undefined && length > 0) return { line };
        const setters = length > 0 ? settersBelow(above, overrides) : [];
        if (setters.length > 0) return { setBy: setters.join(', ') };
      }
      return {};
    },
  };
}

function readOutside(
  environment: NodeJS.ProcessEnv,
  flags: Flags,
): { addresses: Config['addresses']; issues: Issue[] } {
  const issues: Issue[] = [];
  const read = (option: string, text: string): Address => {
    const address = parseAddress(text);
    if (!address)
      issues.push(
        ...below([option], issue('must be HOST:PORT, [IPv6]:PORT or :PORT, with a port from 0 to 65535')),
      );
    return address ?? { port: 0 };
  };
  const addresses = {
    public: read('--address', flags.address ?? ':8080'),
    internal: read('--internal-address', flags.internalAddress ?? ':8081'),
  };
  if (collide(addresses.public, addresses.internal))
    issues.push(...below(['--internal-address'], issue('is the same as --address')));
  if (!['', 'true', 'false'].includes(environment['REGISTRY_INSECURE_URLS'] ?? ''))
    issues.push(...below(['REGISTRY_INSECURE_URLS'], issue('must be true or false')));
  return { addresses, issues };
}

function adminFileRoots(file: Unchecked<ConfigFile>): Issue[] {
  const named: [Path, unknown][] = [
    [['adminFileRoot'], file.adminFileRoot],
    ...elements(file.adminFileRoots).map((root, position): [Path, unknown] => [
      ['adminFileRoots', position, 'path'],
      member(root, 'path'),
    ]),
  ];
  const known = new Set<string>();
  return named.flatMap(([path, directory]) => {
    if (typeof directory !== 'string' || !directory.startsWith('/') || directory.includes('\0')) return [];
    const isDirectory = statSync(directory, { throwIfNoEntry: false })?.isDirectory() ?? false;
    if (!isDirectory) return below(path, issue('is not a directory'));
    // Two answers to one question.
    const real = realpathSync(directory);
    if (known.has(real)) return below(path, issue(`${JSON.stringify(directory)} stands in the list already`));
    known.add(real);
    return [];
  });
}

// REGISTRY_AUTH_OAUTH_RESOURCE_URL and …_RESOURCEURL: two answers to one question.
function doubleVariables(overrides: readonly Override[]): Issue[] {
  return overrides.flatMap(({ path, value, setBy }, position) => {
    const earlier = overrides.slice(0, position).find((other) => formatPath(other.path) === formatPath(path));
    return earlier && setBy.startsWith('REGISTRY_') && earlier.value !== value
      ? below([setBy], issue(`differs from ${earlier.setBy}, which means the same`))
      : [];
  });
}

function unusedParameters({ database }: ConfigFile): string[] {
  const parsed = database?.url === undefined ? undefined : parseDatabaseUrl(database.url);
  if (parsed === undefined || typeof parsed === 'string') return [];
  return parsed.unused.map((name) => `database.url: the parameter ${JSON.stringify(name)} has no effect`);
}
