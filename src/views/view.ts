import type { Caller } from '../auth/caller.js';

/** One claim set of one source: the unit in which entries are visible or not. */
export interface Partition {
  readonly sourceId: number;
  readonly claimSetId: number;
}

/**
 * What one caller sees of one registry: partitions in the order of the registry's sources, so that of two entries with
 * one name the earlier shadows the later. Two callers with equal views get equal bytes.
 */
export interface View {
  readonly partitions: readonly Partition[];
  /** Equal for equal views of sources in which nothing has changed in between, and for no others. */
  readonly tag: string;
  /** All sources of the registry in its order, also those without a partition. */
  readonly sourceIds: readonly number[];
  /** The state of those sources that the partitions were read at: `RegistryState.revisions`. */
  readonly revisions: string;
}

/** A caller who has entered a registry. */
export interface RegistryAccess {
  readonly caller: Caller;
  readonly registryName: string;
  /** What the caller sees of it. */
  readonly view: View;
}
