import type { Flags } from '../config/config.js';
import { readEnvironment } from '../config/environment.js';
import { type LoadedConfig, loadConfig } from '../config/load-config.js';
import { ConfigurationError } from '../validation/problems.js';

/** Loads the configuration, or writes everything that is wrong with it to standard error. */
export function configuration(file: string, flags: Flags): LoadedConfig | undefined {
  try {
    return loadConfig(file, readEnvironment(), flags);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    process.stderr.write(`${file}: ${error.message}\n`);
    return undefined;
  }
}
