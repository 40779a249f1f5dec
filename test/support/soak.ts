/** Set by `npm run soak` (`vitest.soak.config.ts`). */
const isSoak = process.env['SOAK'] === 'true';

/** Scales a test: the full extent in `npm run soak`, a quick check in `npm test`. */
export function inSoak<T>(all: T, otherwise: T): T {
  return isSoak ? all : otherwise;
}
