import { member } from '../json/json-values.js';
import type { SourceKind } from './kinds.js';

/** contract §7: may a source not lose most of its entries at once? Those that somebody else's server fills may not. */
export function isGuardedFromShrinking(kind: SourceKind, settings: unknown): boolean {
  return kind === 'api' || (kind === 'file' && member(settings, 'url') !== undefined);
}
