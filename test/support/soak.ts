/** `npm run soak` sets it (`vitest.soak.config.ts`). */
const isSoak = process.env['SOAK'] === 'true';

/** How much a test does: enough for `npm test` to notice what is broken, and in `npm run soak` all of it. */
export function inSoak<T>(all: T, otherwise: T): T {
  return isSoak ? all : otherwise;
}
