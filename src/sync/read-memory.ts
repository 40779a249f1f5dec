import { setFlagsFromString } from 'node:v8';
import { Injectable } from '@nestjs/common';

const MIB = 1024 * 1024;
/** Default limit on the memory that the content of all runs in this process may use. */
const MAX_BYTES = 208 * MIB;
/** Memory needed per byte of a file, for the file, its documents and their overhead. */
const PER_FILE_BYTE = MAX_BYTES / (64 * MIB);

/** Returns the memory limit for all runs combined, given the maximum size of a file. */
export function readMemoryFor(mebibytesPerFile: number): number {
  return Math.max(MAX_BYTES, PER_FILE_BYTE * mebibytesPerFile * MIB);
}

/** A source takes too much memory; the message is for the operator. */
export class ReadMemoryError extends Error {}

/**
 * Limits the total memory that all runs in this process use, because a hostile source may send any amount of data. When
 * the limit is exceeded, the largest run is aborted, so that no source can block the others.
 */
@Injectable()
export class ReadMemory {
  private readonly shares = new Set<MemoryShare>();
  private total = 0;

  /**
   * @param maxBytes the limit for all runs combined.
   * @param onChange receives the total bytes of all runs whenever the total changes.
   */
  constructor(
    private readonly maxBytes = MAX_BYTES,
    private readonly onChange: (bytes: number) => void = () => undefined,
  ) {}

  /** Starts counting the memory of one run. */
  begin(): MemoryShare {
    const share: MemoryShare = new MemoryShare(
      (bytes) => this.grow(share, bytes),
      () => this.end(share),
    );
    this.shares.add(share);
    return share;
  }

  private grow(share: MemoryShare, bytes: number): void {
    this.total += bytes;
    this.onChange(this.total);
    while (this.total > this.maxBytes) {
      const [largest] = [...this.shares].sort((one, other) => other.bytes - one.bytes);
      if (!largest) return;
      const isAlone = this.shares.size === 1;
      this.end(largest);
      largest.refuse(
        isAlone
          ? `The source takes more than ${Math.floor(this.maxBytes / MIB)} MiB of memory, the maximum: split it, or filter it upstream`
          : 'All syncs together take too much memory, and this one takes the most: it will be retried',
      );
    }
    if (share.refusal) throw share.refusal;
  }

  private end(share: MemoryShare): void {
    if (!this.shares.delete(share)) return;
    this.total -= share.bytes;
    this.onChange(this.total);
  }
}

/** The memory of one run. */
export class MemoryShare {
  bytes = 0;
  /** Why the run must end; undefined while it may continue. */
  refusal: ReadMemoryError | undefined;
  private readonly refusing = new AbortController();

  constructor(
    private readonly grow: (bytes: number) => void,
    /** Releases all memory of the run. */
    readonly end: () => void,
  ) {}

  /** Aborts when the run must end. */
  get signal(): AbortSignal {
    return this.refusing.signal;
  }

  /** @throws ReadMemoryError if the run must end. */
  add(bytes: number): void {
    if (this.refusal) throw this.refusal;
    this.bytes += bytes;
    this.grow(bytes);
  }

  /** Releases bytes that were added before. Has no effect if the run has been refused. */
  release(bytes: number): void {
    if (this.refusal) return;
    this.bytes -= bytes;
    this.grow(-bytes);
  }

  refuse(sentence: string): void {
    this.refusal = new ReadMemoryError(sentence);
    this.refusing.abort(this.refusal);
  }
}

/**
 * Growth of the heap between two garbage collections, in percent. A lower value makes reads wait for collections
 * (docs/decisions/013-runtime-tuning.md).
 */
const GROWTH = 100;
/** Growth while syncs hold a lot of memory. At 33 %, four endless upstreams exceed the documented limit. */
const GROWTH_UNDER_LOAD = 20;
const LOAD_BYTES = 32 * MIB;

/** Makes V8 collect garbage earlier while runs hold a lot of memory. */
export class HeapGrowth {
  private percent: number | undefined;

  constructor(
    private readonly setPercent = (percent: number) =>
      setFlagsFromString(`--heap-growing-percent=${percent}`),
  ) {}

  /** @param bytesHeld the bytes that all runs currently hold. */
  fit(bytesHeld: number): void {
    const percent = bytesHeld > LOAD_BYTES ? GROWTH_UNDER_LOAD : GROWTH;
    if (percent === this.percent) return;
    this.percent = percent;
    this.setPercent(percent);
  }
}
