import { setFlagsFromString } from 'node:v8';

/**
 * Tunes V8's heap for the start of a server (docs/decisions/013-runtime-tuning.md). While the modules load, their garbage
 * is collected early, and the young generation keeps its initial size: a server at rest would keep both.
 *
 * From now on, no allocation site allocates in the old generation at once. V8 would do so for objects of requests whose
 * siblings once lived long, and each of them would keep its whole request until a full garbage collection.
 */
export function holdHeap(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
  setFlagsFromString('--heap-growing-percent=40');
  setFlagsFromString('--semi-space-growth-factor=1');
}

/** Lets the heap grow again, by V8's defaults, as soon as requests or syncs allocate enough. */
export function releaseHeap(): void {
  setFlagsFromString('--heap-growing-percent=0');
  setFlagsFromString('--semi-space-growth-factor=2');
}
