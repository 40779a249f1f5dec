import { setFlagsFromString } from 'node:v8';

/**
 * Tunes V8's heap (docs/decisions/013-runtime-tuning.md). While the modules load, the young generation keeps its initial
 * size: a server at rest would keep a larger one.
 *
 * From now on, the old generation grows by half between two garbage collections (see `HeapGrowth`), and no allocation site
 * allocates there at once. V8 would do so for objects of requests whose siblings once lived long, and each of them would
 * keep its whole request until a full garbage collection.
 */
export function holdHeap(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
  setFlagsFromString('--heap-growing-percent=50');
  setFlagsFromString('--semi-space-growth-factor=1');
}

/** Lets the young generation grow, by V8's default factor, as soon as requests or syncs allocate enough. */
export function releaseHeap(): void {
  setFlagsFromString('--semi-space-growth-factor=2');
}
