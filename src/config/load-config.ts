import { dirname, resolve } from 'node:path';
import { checkShape } from '../validation/class-validation.js';
import {
  below,
  ConfigurationError,
  formatPath,
  type Issue,
  issue,
  type Locator,
  type Path,
  type Problem,
  problemsOf,
} from '../validation/value-checks.js';
import { ConfigFile } from './config-file.dto.js';
import type { Config, Flags } from './config.js';
import { crossIssues, sharedClaims, withoutClaims, withoutEffect } from './cross-rules.js';
import { unusedParameters } from './database-settings.js';
import { type Address, collide, kubeconfigOf, parseAddress, proxyOf } from './environment.js';
import { marketplaceWarnings, openRegistryWarnings, publishWarnings } from './open-registries.js';
import {
  applyOverrides,
  doubleVariables,
  type Override,
  overridesOf,
  setterOf,
  settersBelow,
  unknownVariables,
} from './overrides.js';
import { freeze } from '../json/plain.js';
import { impossibleClaims } from './provider-claims.js';
import { readReferencedFiles } from './referenced-files.js';
import { adminFileRoots, resolveConfig } from './resolve-config.js';
import { telemetryOf } from './telemetry-config.js';
import { TOOLHIVE_FILE, toolhiveKeys } from './toolhive-keys.js';
import { parseYaml, readConfigText, type YamlTree } from './yaml.js';

export interface LoadedConfig {
  readonly config: Config;
  /** Messages for the operator about problems that do not prevent startup. */
  readonly warnings: string[];
}

/**
 * Loads the configuration from file, environment and flags. Flags override variables, and variables override the file.
 * Has no side effects.
 *
 * @throws ConfigurationError with all problems. Mistakes by the operator never cause any other error.
 */
export function loadConfig(file: string, environment: NodeJS.ProcessEnv, flags: Flags): LoadedConfig {
  const { tree, lineOf } = parseYaml(readConfigText(file), file);
  const overrides = [...overridesOf(environment), ...modeFlag(flags)];
  const locator = locate(lineOf, overrides);
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
      ...unusedParameters(value.database?.url),
      ...referenced.warnings,
      ...telemetry.warnings,
      ...sharedClaims(config),
      ...impossibleClaims(config),
      ...withoutEffect(config),
      ...withoutClaims(config),
      ...openRegistryWarnings(config, Date.now()),
      ...marketplaceWarnings(config),
      ...publishWarnings(config),
    ],
  };
}

/** @param before Problems with the whole file, listed first. */
function refuse(issues: readonly Issue[], locator: Locator, before: readonly Problem[]): void {
  if (issues.length > 0) throw new ConfigurationError([...before, ...problemsOf(issues, locator)]);
}

// Specific advice about a key replaces the issue that the key is unknown.
function withoutSamePaths(issues: readonly Issue[], others: readonly Issue[]): Issue[] {
  const paths = new Set(others.map(({ path }) => formatPath(path)));
  return issues.filter(({ path }) => !paths.has(formatPath(path)));
}

function modeFlag({ authMode }: Flags): Override[] {
  return authMode === undefined ? [] : [{ path: ['auth', 'mode'], value: authMode, setBy: '--auth-mode' }];
}

// A missing member is reported at the line of its section.
function locate(lineOf: YamlTree['lineOf'], overrides: readonly Override[]): Locator {
  return {
    find: (path: Path) => {
      const setBy = setterOf(path, overrides);
      if (setBy !== undefined) return { setBy };
      for (let length = path.length; length >= 0; length--) {
        const above = path.slice(0, length);
        const line = length > 0 ? lineOf(above) : undefined;
        if (line !== undefined) return { line };
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
    issues.push(...below(['--internal-address'], issue('must differ from --address')));
  if (!['', 'true', 'false'].includes(environment['REGISTRY_INSECURE_URLS'] ?? ''))
    issues.push(...below(['REGISTRY_INSECURE_URLS'], issue('must be true or false')));
  return { addresses, issues };
}
