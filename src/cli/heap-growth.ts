import { setFlagsFromString } from 'node:v8';

/**
 * How much the heap may grow before it is collected again, in percent. Left alone V8 lets it double and more, and pages and documents in
 * the making are large: with a third, four endless upstreams at once take more memory than is promised.
 */
const HEAP_GROWTH = 20;

/** Before the application is loaded. */
export function limitHeapGrowth(): void {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH}`);
}
