import type { Flags } from '../config/config.js';
import { proxyReport, readEnvironment } from '../config/environment.js';
import { loadConfig, type LoadedConfig } from '../config/load-config.js';
import { openRegistries } from '../config/open-registries.js';
import { providerReaches } from '../config/provider-claims.js';
import { ConfigurationError } from '../validation/value-checks.js';
import type { FailOn } from './check-against.js';

/**
 * Loads the configuration.
 *
 * @param report receives all problems in an invalid file; the default writes them to standard error.
 */
export function configuration(
  file: string,
  flags: Flags,
  report: (problems: string) => void = (problems) => process.stderr.write(`${problems}\n`),
): LoadedConfig | undefined {
  try {
    return loadConfig(file, readEnvironment(), flags);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    report(`${file}: ${error.message}`);
    return undefined;
  }
}

/** Optional checks (reference/commands, reference/explain). */
export interface AccessChecks {
  /** A file of expectations. */
  readonly access?: string;
  /** Output file for the results as JUnit XML. */
  readonly junit?: string;
  /** The previous configuration, used to print whose access changes. */
  readonly against?: string;
  /** The changes that make the check fail, for `against`. */
  readonly failOn?: FailOn;
  /** Whether to contact the identity providers, the database and the sources. */
  readonly online?: boolean;
}

/** Validates a configuration and runs the access checks. Returns exit code 0 or 1. */
export async function check(
  file: string,
  flags: Flags,
  { access, junit, against, failOn, online }: AccessChecks = {},
): Promise<number> {
  const loaded = configuration(file, flags);
  if (!loaded) return 1;
  // Loaded here, because `serve` imports this file before it starts tracing.
  const { privateProviders } = await import('../auth/provider-check.js');
  for (const warning of [...loaded.warnings, ...privateProviders(loaded.config)])
    process.stderr.write(`warning: ${warning}\n`);
  const { sources, registries, auth, database, proxy } = loaded.config;
  process.stdout.write(
    `${file} is valid: ${auth.mode} mode, sources: ${sources.length}, registries: ${registries.length}, ` +
      `${database ? `PostgreSQL at ${database.host}:${database.port}` : 'embedded PostgreSQL'}\n`,
  );
  for (const line of openRegistries(loaded.config)) process.stdout.write(`${line}\n`);
  for (const { provider, claims, roles } of providerReaches(auth))
    process.stdout.write(
      `provider ${provider}: claims: ${claims?.join(', ') ?? 'any'}; roles: ${roles.join(', ') || 'none'}\n`,
    );
  for (const line of proxyReport(proxy)) process.stdout.write(`${line}\n`);
  const codes: number[] = [];
  if (online) {
    const { checkOnline } = await import('./check-online.js');
    codes.push(await checkOnline(loaded.config));
  }
  if (against !== undefined) {
    const old = configuration(against, flags);
    if (!old) return 1;
    const { checkAgainst } = await import('./check-against.js');
    codes.push(await checkAgainst(loaded.config, old.config, failOn));
  }
  if (access !== undefined) {
    const { checkAccess } = await import('./check-access.js');
    codes.push(await checkAccess(loaded.config, access, junit));
  }
  return Math.max(0, ...codes);
}
