import { setFlagsFromString } from 'node:v8';
import { Injectable } from '@nestjs/common';

const MIB = 1024 * 1024;
/** Default limit on the memory that the content of all runs in this process may use. */
const MAX_BYTES = 208 * MIB;
/** Memory needed per byte of a file, for the file, its documents and their overhead. */
const PER_FILE_BYTE = MAX_BYTES / (64 * MIB);
/** Part of the limit for several runs together; the rest is for what ended runs leave until it is collected. */
const TOGETHER_PART = 3 / 4;
/** Part of the limit that every run may use without waiting, so that large sources don't delay small ones. */
const FREE_PART = 1 / 100;
/** How long a run may read while others wait for its memory. */
const MAX_HOLD_MS = 10 * 60_000;
const CHECK_MS = 10_000;

/** Returns the memory limit for all runs combined, given the maximum size of a file. */
export function readMemoryFor(mebibytesPerFile: number): number {
  return Math.max(MAX_BYTES, PER_FILE_BYTE * mebibytesPerFile * MIB);
}

/** A source takes too much memory; the message is for the operator. */
export class ReadMemoryError extends Error {}

/**
 * Other runs hold the memory that a run needs. A single instance, because the stack of an error keeps the objects of its
 * frames alive, such as all that the waiting run has read.
 */
const BUSY = new ReadMemoryError('Other syncs hold the memory that this one needs');

interface Waiter {
  readonly order: number;
  readonly bytes: number;
  readonly grant: () => void;
}

/**
 * Limits the total memory that all runs in this process use, because a hostile source may send any amount of data. When
 * the limit is reached, the youngest run releases its memory and waits to start over, so the older ones can finish.
 * A waiting run holds nothing, so runs cannot deadlock (docs/decisions/018-syncs-wait-for-memory.md).
 */
@Injectable()
export class ReadMemory {
  /** The runs that may hold memory. */
  private readonly shares = new Set<MemoryShare>();
  /** Oldest run first. */
  private readonly waiters: Waiter[] = [];
  private readonly freeBytes: number;
  private runs = 0;
  private check: NodeJS.Timeout | undefined;

  /**
   * @param maxBytes the limit for one run and for all runs combined, not counting a hundredth of it for each run.
   * @param onChange receives the total bytes of all runs whenever the total changes.
   */
  constructor(
    private readonly maxBytes = MAX_BYTES,
    private readonly onChange: (bytes: number) => void = () => undefined,
  ) {
    this.freeBytes = maxBytes * FREE_PART;
  }

  /** Starts counting the memory of one run. */
  begin(): MemoryShare {
    return this.share((this.runs += 1), 0);
  }

  /**
   * Waits until the memory that a run lacked is free, and reserves it. Older runs are served first.
   *
   * @param before the share of the attempt that had to wait (`mustWait`); it ends now.
   * @returns the share for the next attempt; rejects with the signal's reason if it aborts.
   */
  resume(before: MemoryShare, signal: AbortSignal): Promise<MemoryShare> {
    const { order } = before;
    const bytes = Math.min(before.likelyNeed, this.maxBytes);
    return new Promise((resolve, reject) => {
      this.shares.delete(before);
      const abort = () => {
        this.waiters.splice(this.waiters.indexOf(waiter), 1);
        reject(signal.reason as Error);
        this.changed();
      };
      const grant = () => {
        signal.removeEventListener('abort', abort);
        resolve(this.share(order, bytes));
      };
      const waiter: Waiter = { order, bytes, grant };
      this.waiters.push(waiter);
      this.waiters.sort((one, other) => one.order - other.order);
      if (signal.aborted) return abort();
      signal.addEventListener('abort', abort, { once: true });
      this.check ??= setInterval(() => this.refuseSlow(), CHECK_MS).unref();
      this.changed();
    });
  }

  private share(order: number, held: number): MemoryShare {
    const share: MemoryShare = new MemoryShare(
      order,
      held,
      () => this.grow(share),
      () => this.changed(),
      () => this.end(share),
    );
    this.shares.add(share);
    return share;
  }

  private grow(share: MemoryShare): void {
    if (share.held > this.maxBytes)
      share.refuse(
        new ReadMemoryError(
          `The source takes more than ${Math.floor(this.maxBytes / MIB)} MiB of memory, the maximum: split it, or filter it upstream`,
        ),
      );
    // Shares that were refused do not count: they are released within milliseconds.
    const others = () => [...this.shares].filter((other) => other !== share && !other.refusal);
    while (!share.refusal && !this.hasRoom(share.order, share.held, others())) {
      const isBehind = this.waiters.some(({ order }) => order < share.order);
      const candidates = isBehind ? [] : this.reading();
      const youngest = candidates.reduce((one, next) => (next.order > one.order ? next : one), share);
      youngest.refuse(BUSY);
    }
    this.changed();
  }

  /** Returns whether a run may hold `bytes` beside the others: they fit, and no older run is waiting. */
  private hasRoom(order: number, bytes: number, others: Iterable<MemoryShare>): boolean {
    if (bytes <= this.freeBytes) return true;
    if (this.waiters.some((waiter) => waiter.order < order)) return false;
    let counted = 0;
    for (const { held } of others) counted += Math.max(0, held - this.freeBytes);
    return counted === 0 || counted + bytes - this.freeBytes <= TOGETHER_PART * this.maxBytes;
  }

  /** Returns the runs that can start over and free memory by it. */
  private reading(): MemoryShare[] {
    return [...this.shares].filter(
      ({ isRead, refusal, held }) => !isRead && !refusal && held > this.freeBytes,
    );
  }

  // A slow upstream must not keep other sources waiting forever.
  private refuseSlow(): void {
    const slow = this.reading().filter(({ since }) => performance.now() - since > MAX_HOLD_MS);
    const [largest] = slow.sort((one, other) => other.held - one.held);
    if (!largest) return;
    const minutes = MAX_HOLD_MS / 60_000;
    const sentence = `Reading the source took more than ${minutes} minutes while other syncs waited for its memory`;
    largest.refuse(new ReadMemoryError(sentence));
  }

  private end(share: MemoryShare): void {
    if (this.shares.delete(share)) this.changed();
  }

  private changed(): void {
    for (
      let [next] = this.waiters;
      next && this.hasRoom(next.order, next.bytes, this.shares);
      [next] = this.waiters
    ) {
      this.waiters.shift();
      next.grant();
    }
    if (this.waiters.length === 0) {
      clearInterval(this.check);
      this.check = undefined;
    }
    this.onChange([...this.shares].reduce((sum, { held }) => sum + held, 0));
  }
}

/** The memory of one attempt of a run. */
export class MemoryShare {
  /** Bytes in use. */
  bytes = 0;
  /** Whether the content has been read: from then on the run only writes, and is not interrupted. */
  isRead = false;
  /** Why the attempt must end; undefined while it may continue. */
  refusal: ReadMemoryError | undefined;
  readonly since = performance.now();
  private readonly refusing = new AbortController();

  /**
   * @param order older runs have lower numbers.
   * @param held bytes that count toward the limit. Never fewer than are used; while the run reads, it keeps the most
   *   that it has used, for its next page.
   * @param onGrow called when `held` has grown.
   * @param onEndRead called when `held` has shrunk.
   * @param end releases all memory of the attempt.
   */
  constructor(
    readonly order: number,
    public held: number,
    private readonly onGrow: () => void,
    private readonly onEndRead: () => void,
    readonly end: () => void,
  ) {}

  /** The memory to wait for before the next attempt; doubled, because a run of unknown size grows. */
  get likelyNeed(): number {
    return Math.max(2 * this.bytes, this.held);
  }

  /** Whether the run must wait for memory that other runs hold, and start over (`ReadMemory.resume`). */
  get mustWait(): boolean {
    return this.refusal === BUSY;
  }

  /** Aborts when the attempt must end. */
  get signal(): AbortSignal {
    return this.refusing.signal;
  }

  /** @throws ReadMemoryError if the attempt must end. */
  add(bytes: number): void {
    this.throwIfRefused();
    this.bytes += bytes;
    this.hold(this.bytes);
  }

  /**
   * Reserves the memory for reading a file of this size. Call it before the content is read.
   *
   * @throws ReadMemoryError if the attempt must end.
   */
  reserveForFile(bytes: number): void {
    this.throwIfRefused();
    this.hold(PER_FILE_BYTE * bytes);
  }

  /** Takes back bytes that were added before. Has no effect if the attempt must end. */
  release(bytes: number): void {
    if (!this.refusal) this.bytes -= bytes;
  }

  /**
   * Releases all memory except what is in use. Call it when all content has been read.
   *
   * @throws ReadMemoryError if the attempt must end.
   */
  endRead(): void {
    this.throwIfRefused();
    this.isRead = true;
    this.held = this.bytes;
    this.onEndRead();
  }

  refuse(error: ReadMemoryError): void {
    this.refusal = error;
    this.refusing.abort(error);
  }

  private hold(bytes: number): void {
    if (bytes <= this.held) return;
    this.held = bytes;
    this.onGrow();
    this.throwIfRefused();
  }

  private throwIfRefused(): void {
    if (this.refusal) throw this.refusal;
  }
}

/**
 * Growth of the heap between two garbage collections, in percent, as `holdHeap` sets it
 * (docs/decisions/013-runtime-tuning.md).
 */
const GROWTH = 50;
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
