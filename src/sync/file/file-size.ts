import type { LimitsConfig } from '../../config/config.js';
import type { Origin } from '../../sources/source.entity.js';

const MIB = 1024 * 1024;
/** What the sources of the configuration may read, unless `limits.mebibytesPerFile` says otherwise; others never more (contract §7). */
export const DEFAULT_MAX_BYTES = 64 * MIB;

/** The most that is read of one registry file of a source. */
export function maxFileBytes(limits: Pick<LimitsConfig, 'mebibytesPerFile'>, origin: Origin): number {
  const bytes = limits.mebibytesPerFile * MIB;
  return origin === 'config' ? bytes : Math.min(bytes, DEFAULT_MAX_BYTES);
}

export function tooLargeSentence(what: string, maxBytes: number): string {
  return `${what} is larger than ${maxBytes / MIB} MiB, the most that is read`;
}
