import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Those that take a quarter of a minute and more. They begin first, so that none of them is waited for at the end by all other workers. */
const LONGEST = [
  'api/service.resilience.spec.ts',
  'api/sync.day.spec.ts',
  'api/sync.api.trouble.spec.ts',
  'api/cli.spec.ts',
  'api/sync.api.habits.spec.ts',
  'api/sync.shrunk.spec.ts',
  'api/sync.memory.spec.ts',
  'api/sync.kubernetes.broken.spec.ts',
  'api/auth.provider-trouble.spec.ts',
  'model/audit.spec.ts',
  'model/access.spec.ts',
  'api/sync.replicas.spec.ts',
  'api/sync.git.spec.ts',
  'api/sync.kubernetes.replicas.spec.ts',
  'api/embedded-postgres.owner.spec.ts',
  'api/sync.git.failures.spec.ts',
  'api/catalog.plans.spec.ts',
  'api/sync.file.spec.ts',
  'api/sources.admin-roots.spec.ts',
  'api/entries.durability.spec.ts',
  'api/catalog.pages.spec.ts',
  'api/sync.git.large.spec.ts',
  'api/audit.recorder.spec.ts',
  'api/claim-sets.spec.ts',
  'api/http.turns.spec.ts',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const place = LONGEST.findIndex((file) => moduleId.endsWith(`/test/${file}`));
      return place < 0 ? LONGEST.length : place;
    };
    return (await super.sort(files)).sort((one, other) => place(one) - place(other));
  }
}

export default defineConfig({
  test: {
    // Rules are tested on their source; everything else on dist, so that what is tested is what ships.
    include: ['src/**/*.spec.ts', 'test/**/*.spec.ts', 'web/src/**/*.spec.ts'],
    exclude: [...configDefaults.exclude, 'test/browser/**', 'test/soak/**'],
    globalSetup: ['test/support/database.setup.ts'],
    setupFiles: ['test/support/secrets.setup.ts'],
    server: { deps: { external: [/\/dist\//] } },
    // Generous: a machine that is busy is no failure.
    testTimeout: 90_000,
    hookTimeout: 120_000,
    // Each file starts a service of its own, and waits for it a good part of the time.
    maxWorkers: 4,
    // Loading Nest and TypeORM anew for each file would be a third of the time. Files keep to themselves all the same.
    isolate: false,
    sequence: { sequencer: LongestFirst },
  },
});
