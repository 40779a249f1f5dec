import { setFlagsFromString } from 'node:v8';

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
