import { defineConfig } from 'vitest/config';

// Separate from the other tests because it needs a browser, which npm does not install.
export default defineConfig({
  test: {
    include: ['test/browser/**/*.spec.ts'],
    globalSetup: ['test/browser/chromium.setup.ts', 'test/browser/demo.setup.ts'],
    // The web UI shows a change after its next request.
    expect: { poll: { timeout: 15_000 } },
    // The tests mostly wait for the browser.
    maxWorkers: 3,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
