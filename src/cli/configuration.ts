import type { Flags } from '../config/config.js';
import { readEnvironment } from '../config/environment.js';
import { type LoadedConfig, loadConfig } from '../config/load-config.js';
import { ConfigurationError } from '../validation/problems.js';

/** Loads the configuration, or tells everything that is wrong with it, on standard error unless told otherwise. */
export function configuration(
  file: string,
  flags: Flags,
  tell: (problems: string) => void = (problems) => process.stderr.write(`${problems}\n`),
): LoadedConfig | undefined {
  try {
    return loadConfig(file, readEnvironment(), flags);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    tell(`${file}: ${error.message}`);
    return undefined;
  }
}
