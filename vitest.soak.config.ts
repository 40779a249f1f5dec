import { defineConfig } from 'vitest/config';

// Apart from the other tests: it takes minutes, and judges speed and memory, for which the machine has to be its own.
export default defineConfig({
  test: {
    include: ['test/soak/**/*.spec.ts'],
    globalSetup: ['test/support/database.setup.ts'],
    server: { deps: { external: [/\/dist\//] } },
    testTimeout: 600_000,
    hookTimeout: 1_800_000,
    disableConsoleIntercept: true,
  },
});
