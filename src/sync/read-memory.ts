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

  /** @param maxBytes of all runs together. */
  constructor(private readonly maxBytes = MAX_BYTES) {}

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
