import { setFlagsFromString } from 'node:v8';
import { Injectable } from '@nestjs/common';

const MIB = 1024 * 1024;
/** What all runs of this process may hold together of what they have read. */
const MAX_BYTES = 208 * MIB;
/** And what that is for each byte of the largest file that is read: the file, its documents, and what is kept around them. */
const PER_FILE_BYTE = MAX_BYTES / (64 * MIB);

/** What all runs may hold together, where files of this size are read. */
export function readMemoryFor(mebibytesPerFile: number): number {
  return Math.max(MAX_BYTES, PER_FILE_BYTE * mebibytesPerFile * MIB);
}

/** What was read of a source is too much; the message is a sentence for the operator. */
export class ReadMemoryError extends Error {}

/**
 * Bounds what the runs of this process hold in memory of what they have read: their sources decide how much there is, and may
 * be hostile. When it is too much, the run that holds most is ended, so that no source can keep others from being read.
 */
@Injectable()
export class ReadMemory {
  private readonly shares = new Set<MemoryShare>();
  private total = 0;

  /**
   * @param maxBytes of all runs together.
   * @param onChange is called with the bytes that all runs hold, whenever that has changed.
   */
  constructor(
    private readonly maxBytes = MAX_BYTES,
    private readonly onChange: (bytes: number) => void = () => undefined,
  ) {}

  /** What one run holds, until it ends. */
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
          ? `What the source holds takes more than ${Math.floor(this.maxBytes / MIB)} MiB of memory, the most that is read: split it, or use a filter upstream`
          : 'Too much is read from all sources together, and from this one most: it is tried again',
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

/** What one run holds in memory of what it has read. */
export class MemoryShare {
  /** So far. */
  bytes = 0;
  /** Why the run has to end; undefined as long as it may go on. */
  refusal: ReadMemoryError | undefined;
  private readonly refusing = new AbortController();

  constructor(
    private readonly grow: (bytes: number) => void,
    /** Gives back what the run held. */
    readonly end: () => void,
  ) {}

  /** Aborts when the run has to end. */
  get signal(): AbortSignal {
    return this.refusing.signal;
  }

  /** @throws ReadMemoryError when the run has to end. */
  add(bytes: number): void {
    if (this.refusal) throw this.refusal;
    this.bytes += bytes;
    this.grow(bytes);
  }

  /** Gives back what was added before; an ended run has given back everything. */
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
 * How much the heap may grow before it is collected again, in percent. With less, reads wait for collections; left alone, V8 decides anew
 * each time, and lets it double and more.
 */
const GROWTH = 100;
/** The same while much is read: with a third, four endless upstreams at once take more memory than is promised. */
const GROWTH_WHILE_MUCH_IS_READ = 20;
const MUCH_BYTES = 32 * 1024 * 1024;

/** Tells V8 how early to collect the heap of this process, from the bytes that all sync runs hold of what they have read. */
export class HeapGrowth {
  private percent: number | undefined;

  constructor(
    private readonly setPercent = (percent: number) =>
      setFlagsFromString(`--heap-growing-percent=${percent}`),
  ) {}

  /** @param bytesRead what all runs hold now. */
  fit(bytesRead: number): void {
    const percent = bytesRead > MUCH_BYTES ? GROWTH_WHILE_MUCH_IS_READ : GROWTH;
    if (percent === this.percent) return;
    this.percent = percent;
    this.setPercent(percent);
  }
}
