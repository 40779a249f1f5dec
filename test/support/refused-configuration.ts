import { ConfigurationError } from '../../src/validation/problems.js';

/** Why a configuration is refused; undefined when it is not. */
export function refusalOf(load: () => unknown): ConfigurationError | undefined {
  try {
    load();
  } catch (error) {
    if (error instanceof ConfigurationError) return error;
    throw error;
  }
  return undefined;
}

/** The same of one that must be refused. */
export function refusal(load: () => unknown): ConfigurationError {
  const error = refusalOf(load);
  if (!error) throw new Error('Nothing was refused');
  return error;
}
