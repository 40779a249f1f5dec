import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take 15 s or more. They start first, so that no worker ends alone with one of them. */
const LONGEST = [
  'api/service.resilience.spec.ts',
  'api/content.fetch.spec.ts',
  'api/marketplace.spec.ts',
  'api/sync.api.trouble.spec.ts',
  'api/admin.made-resources.spec.ts',
  'api/admission.webhooks.spec.ts',
  'api/service.hung-database.spec.ts',
  'api/cli.spec.ts',
  'api/sync.api.habits.spec.ts',
  'api/sync.shrunk.spec.ts',
  'api/sync.kubernetes.broken.spec.ts',
  'api/auth.provider-trouble.spec.ts',
  'model/admission.spec.ts',
  'model/audit.spec.ts',
  'model/access.spec.ts',
  'model/tenants.spec.ts',
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
    // Unit tests run on the source; all others on dist, the code that ships.
    include: ['src/**/*.spec.ts', 'test/**/*.spec.ts', 'web/src/**/*.spec.ts'],
    exclude: [...configDefaults.exclude, 'test/browser/**', 'test/soak/**'],
    globalSetup: ['test/support/database.setup.ts'],
    setupFiles: ['test/support/secrets.setup.ts'],
    server: { deps: { external: [/\/dist\//] } },
    // A busy machine is no failure: these only end what hangs.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 120_000 } },
    // Each file starts a service and mostly waits for it.
    maxWorkers: 4,
    // Of a value in a title, as `$0`, and in a failure.
    chaiConfig: { truncateThreshold: 100 },
    // Isolation would reload Nest and TypeORM for each file, a third of the time. Files share no state
    // regardless.
    isolate: false,
    sequence: { sequencer: LongestFirst },
  },
});
