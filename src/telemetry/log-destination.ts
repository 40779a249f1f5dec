import { type DestinationStream, pino } from 'pino';

/** Bytes that wait for a reader who takes none: with more, lines are dropped, before they fill the memory. */
const MAX_WAITING = 8 * 1_024 * 1_024;
/** How long lines are collected to be written together, and how many characters of them at most. */
const COLLECTING_MS = 20;
const MAX_COLLECTED = 64 * 1_024;

/**
 * A stream of the process for the log. Lines that come soon after each other are written together, asynchronously: a write for each of
 * them would cost as much as all the rest of the log. What is left is written when the process exits.
 */
export class LogDestination implements DestinationStream {
  private readonly stream;
  private lines = '';
  /** Not told yet. */
  private dropped = 0;
  private isInUse = false;

  /**
   * @param stream the number of the stream.
   * @param onDropped is told how many lines were lost, once there is room for one that says so.
   */
  constructor(
    stream: number,
    private readonly onDropped: (lines: number) => void,
  ) {
    this.stream = pino.destination({ dest: stream, sync: false, maxLength: MAX_WAITING });
    this.stream.on('drop', (lines: string) => (this.dropped += lines.split('\n').length - 1));
    this.stream.on('drain', () => this.tell());
  }

  write(line: string): void {
    if (!this.isInUse) this.begin();
    if (this.lines === '') setTimeout(() => this.pass(), COLLECTING_MS);
    this.lines += line;
    if (this.lines.length >= MAX_COLLECTED) this.pass();
  }

  /** After a line that may be the last. */
  flushSync(): void {
    this.pass();
    this.stream.flushSync();
  }

  private begin(): void {
    this.isInUse = true;
    // Before pino's own listener, which writes what the stream has by then.
    process.prependListener('exit', () => this.pass());
  }

  private pass(): void {
    if (this.lines === '') return;
    const { lines } = this;
    this.lines = '';
    this.stream.write(lines);
  }

  private tell(): void {
    const { dropped } = this;
    if (dropped === 0) return;
    this.dropped = 0;
    this.onDropped(dropped);
  }
}
