import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that wait or take long. They start first, so that no worker ends alone with one of them. */
const LONGEST = [
  'system/cli.spec.ts',
  'api/content.fetch.spec.ts',
  'system/service.hung-database.spec.ts',
  'api/sync.api.trouble.spec.ts',
  'system/auth.provider-trouble.spec.ts',
  'system/embedded-postgres.owner.spec.ts',
  'api/admission.webhooks.spec.ts',
  'system/service.standby.spec.ts',
  'system/service.resilience.spec.ts',
  'system/sync.replicas.spec.ts',
  'system/webhooks.crash.spec.ts',
  'system/service.connections.spec.ts',
  'api/marketplace.spec.ts',
  'system/telemetry.traces.spec.ts',
  'system/sync.kubernetes.broken.spec.ts',
  'api/sync.git.large.spec.ts',
  'api/sync.git.spec.ts',
  'api/sync.git.failures.spec.ts',
  'system/database.defaults.spec.ts',
  'system/sync.waiting.spec.ts',
  'api/sync.shrunk.spec.ts',
  'api/webhooks.spec.ts',
  'system/access.withdrawal.spec.ts',
  'system/access.replicas.spec.ts',
  'api/audit.refusals-and-reads.spec.ts',
  'api/audit.list.spec.ts',
  'api/webhooks.views.spec.ts',
  'system/sync.kubernetes.replicas.spec.ts',
  'api/openapi.clients.spec.ts',
  'system/service.first-uses.spec.ts',
  'system/cli.online.spec.ts',
  'system/embedded-postgres.recovery.spec.ts',
  'api/sync.kubernetes.large.spec.ts',
  'api/outbound.internet.spec.ts',
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
