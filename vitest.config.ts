import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that wait or take long. They start first, so that no worker ends alone with one of them. */
const LONGEST = [
  'system/cli.spec.ts',
  'system/service.resilience.spec.ts',
  'system/sync.replicas.spec.ts',
  'system/sync.kubernetes.broken.spec.ts',
  'system/service.hung-database.spec.ts',
  'system/auth.provider-trouble.spec.ts',
  'system/embedded-postgres.owner.spec.ts',
  'system/service.connections.spec.ts',
  'system/sync.hostile-repositories.spec.ts',
  'system/cli.online.spec.ts',
  'system/webhooks.crash.spec.ts',
  'system/package.spec.ts',
  'system/database.defaults.spec.ts',
  'system/sync.kubernetes.outages.spec.ts',
  'system/sync.kubernetes.forbidden.spec.ts',
  'system/sync.waiting.spec.ts',
  'api/content.fetch.spec.ts',
  'api/sync.formats.spec.ts',
  'api/sync.marketplace.spec.ts',
  'api/marketplace.spec.ts',
  'api/webhooks.spec.ts',
  'api/admission.webhooks.spec.ts',
  'api/audit.refusals-and-reads.spec.ts',
  'api/admission.members.spec.ts',
  'api/configured-catalogue.reload.spec.ts',
  'api/http.bodies.spec.ts',
  'api/catalog.searches.spec.ts',
  'api/audit.list.spec.ts',
  'api/webhooks.views.spec.ts',
  'api/sync.git.large.spec.ts',
  'api/sync.api.trouble.spec.ts',
  'api/admission.block-writes.spec.ts',
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
