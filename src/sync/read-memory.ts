import { Injectable } from '@nestjs/common';
import { Semaphore } from '../limits/semaphore.js';

const MIB = 1024 * 1024;
/** Default limit on the memory that the content of one run may use. */
const MAX_BYTES = 208 * MIB;
/** Memory needed per byte of a file, for the file, its documents and their overhead. */
const PER_FILE_BYTE = MAX_BYTES / (64 * MIB);
/** A run that uses more than this is large. */
const SMALL_BYTES = 2 * MIB;
/** Exceeds the wait of any run, because each run ahead of it ends or fails. */
const PATIENCE_MS = 24 * 60 * 60_000;

/** Returns the memory limit for one run, given the maximum size of a file. */
export function readMemoryFor(mebibytesPerFile: number): number {
  return Math.max(MAX_BYTES, PER_FILE_BYTE * mebibytesPerFile * MIB);
}

/** A source takes too much memory; the message is for the operator. */
export class ReadMemoryError extends Error {}

/**
 * Another run occupies the place for large runs. A single instance, because the stack of a new error would keep all
 * data that the waiting run has read in memory.
 */
const BUSY = new ReadMemoryError('Other syncs hold the memory that this one needs');

/**
 * Limits the memory of the runs in this process, because a hostile source may send any amount of data. There is one place for
 * a large run. A run that becomes large without it releases its memory, waits for the place and starts over
 * (docs/decisions/018-syncs-wait-for-memory.md).
 */
@Injectable()
export class ReadMemory {
  private readonly place = new Semaphore(1, PATIENCE_MS);

  /** @param maxBytes the limit for one run. */
  constructor(readonly maxBytes = MAX_BYTES) {}

  /** Starts counting the memory of one run. */
  begin(): MemoryShare {
    return new MemoryShare(this);
  }

  /**
   * Waits for the place for large runs; owners of sources take turns.
   *
   * @returns the share for the next attempt of a run that had to wait (`mustWait`); rejects with the signal's reason if it aborts.
   */
  async waitForPlace(owner: string, signal: AbortSignal): Promise<MemoryShare> {
    return new MemoryShare(this, await this.place.acquire(owner, signal));
  }

  /** Returns a function that frees the place, or undefined if another run has it. */
  tryTakePlace(): (() => void) | undefined {
    return this.place.tryAcquire();
  }
}

export class MemoryShare {
  /** Why the attempt must end; undefined while it may continue. */
  refusal: ReadMemoryError | undefined;
  /** Bytes in use. */
  bytes = 0;

  /** @param giveBack frees the place for large runs, if the run has it. */
  constructor(
    private readonly memory: ReadMemory,
    private giveBack?: () => void,
  ) {}

  /** Whether the run must wait for the place (`ReadMemory.waitForPlace`) and start over. */
  get mustWait(): boolean {
    return this.refusal === BUSY;
  }

  /** @throws ReadMemoryError if the attempt must end. */
  add(bytes: number): void {
    this.bytes += bytes;
    this.check(this.bytes);
  }

  /**
   * Reserves the memory for reading a file of this size. Call it before the content is read.
   *
   * @throws ReadMemoryError if the attempt must end.
   */
  reserveForFile(bytes: number): void {
    this.check(PER_FILE_BYTE * bytes);
  }

  /** Subtracts bytes that were added before. */
  release(bytes: number): void {
    this.bytes -= bytes;
  }

  /** Frees the place for large runs, if the run has it. */
  end(): void {
    this.giveBack?.();
    this.giveBack = undefined;
  }

  private check(bytes: number): void {
    this.refusal ??= this.refusalOf(bytes);
    if (this.refusal) throw this.refusal;
  }

  private refusalOf(bytes: number): ReadMemoryError | undefined {
    const { maxBytes } = this.memory;
    if (bytes > maxBytes)
      return new ReadMemoryError(
        `The source takes more than ${Math.floor(maxBytes / MIB)} MiB of memory, the maximum: split it, or filter it upstream`,
      );
    if (bytes > SMALL_BYTES) this.giveBack ??= this.memory.tryTakePlace();
    return bytes > SMALL_BYTES && !this.giveBack ? BUSY : undefined;
  }
}
