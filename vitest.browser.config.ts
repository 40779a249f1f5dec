import { defineConfig } from 'vitest/config';

// Apart from the other tests, because it needs a browser, which no package of npm brings along.
export default defineConfig({
  test: {
    include: ['test/browser/**/*.spec.ts'],
    globalSetup: ['test/browser/chromium.setup.ts', 'test/browser/demo.setup.ts'],
    // A page shows what has changed when it has asked for it again.
    expect: { poll: { timeout: 15_000 } },
    // They wait for the browser a good part of the time.
    maxWorkers: 3,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
