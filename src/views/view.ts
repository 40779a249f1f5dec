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
  /** The state of those sources at which the partitions were looked up, as a text: what `REVISIONS` in SQL says of them. */
  readonly revisions: string;
}

/** A caller inside a registry. */
export interface RegistryAccess {
  readonly caller: Caller;
  readonly registryName: string;
  /** What they see of it. */
  readonly view: View;
}
