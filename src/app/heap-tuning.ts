import { setFlagsFromString } from 'node:v8';

/**
 * Lets nothing be allocated in V8's old generation from the start. V8 would do so with objects of requests whose siblings
 * once lived long, and each of them would keep its whole request until a full garbage collection.
 *
 * Keeps V8's young generation at its initial size while the modules load (docs/decisions/013-runtime-tuning.md): it would
 * grow to 32 MiB, which a server at rest keeps and does not need.
 */
export function holdYoungGeneration(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
  setFlagsFromString('--semi-space-growth-factor=1');
}

/** Lets it grow again, by V8's default factor, as soon as requests or syncs allocate enough. */
export function releaseYoungGeneration(): void {
  setFlagsFromString('--semi-space-growth-factor=2');
}
