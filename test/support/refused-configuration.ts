import { ConfigurationError } from '../../src/validation/value-checks.js';

/** Why a configuration is refused; undefined when it is accepted. */
export function refusalOf(load: () => unknown): ConfigurationError | undefined {
  try {
    load();
  } catch (error) {
    if (error instanceof ConfigurationError) return error;
    throw error;
  }
  return undefined;
}

/** Why a configuration is refused; throws when it is accepted. */
export function refusal(load: () => unknown): ConfigurationError {
  const error = refusalOf(load);
  if (!error) throw new Error('Nothing was refused');
  return error;
}
