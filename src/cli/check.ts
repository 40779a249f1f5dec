import type { Flags } from '../config/config.js';
import { openRegistries } from '../config/rules/open-registries.js';
import { providerReaches } from '../config/providers/provider-claims.js';
import { proxyReport } from '../config/proxy/proxy-variables.js';
import { configuration } from './configuration.js';

/** Loads and validates; starts and writes nothing. Exit code 0 or 1. */
export function check(file: string, flags: Flags): number {
  const loaded = configuration(file, flags);
  if (!loaded) return 1;
  for (const warning of loaded.warnings) process.stderr.write(`warning: ${warning}\n`);
  const { sources, registries, auth, database, proxy } = loaded.config;
  process.stdout.write(
    `${file} is valid: ${auth.mode} mode, ${sources.length} source(s), ${registries.length} registry(ies), ` +
      `${database ? `PostgreSQL at ${database.host}:${database.port}` : 'embedded PostgreSQL'}\n`,
  );
  for (const line of openRegistries(loaded.config)) process.stdout.write(`${line}\n`);
  for (const { provider, claims, roles } of providerReaches(auth))
    process.stdout.write(
      `provider ${provider}: claims: ${claims?.join(', ') ?? 'any'}; roles: ${roles.join(', ') || 'none'}\n`,
    );
  for (const line of proxyReport(proxy)) process.stdout.write(`${line}\n`);
  return 0;
}
