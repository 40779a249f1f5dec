import { configDefaults, defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // Rules are tested on their source; everything else on dist, so that what is tested is what ships.
    include: ['src/**/*.spec.ts', 'test/**/*.spec.ts'],
    exclude: [...configDefaults.exclude, 'test/browser/**', 'test/soak/**'],
    globalSetup: ['test/support/database.setup.ts'],
    setupFiles: ['test/support/secrets.setup.ts'],
    server: { deps: { external: [/\/dist\//] } },
    // Generous: a machine that is busy is no failure.
    testTimeout: 90_000,
    hookTimeout: 120_000,
    // Each file starts a service of its own, and waits for it a good part of the time.
    maxWorkers: 3,
    // Loading Nest and TypeORM anew for each file would be a third of the time. Files keep to themselves all the same.
    isolate: false,
  },
});
