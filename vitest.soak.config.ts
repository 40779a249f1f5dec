import { defineConfig } from 'vitest/config';

/** Other tests that run longer here (`test/support/soak.ts`). */
export const LONGER_HERE = [
  'src/cli/check-against.spec.ts',
  'src/client-config/allowlist.spec.ts',
  'src/config/load-config.fuzz.spec.ts',
  'src/documents/document-check.spec.ts',
  'src/visibility/partitions.spec.ts',
  'test/api/access.model.spec.ts',
  'test/system/admission.model.spec.ts',
  'test/system/audit.model.spec.ts',
  'test/system/tenants.model.spec.ts',
  'test/system/webhooks.model.spec.ts',
  'test/system/sync.replicas.spec.ts',
  'test/api/sync.api.spec.ts',
  'test/api/audit.refusals-and-reads.spec.ts',
  'test/api/catalog.search.spec.ts',
  'test/api/sync.file.spec.ts',
  'test/api/sync.formats.spec.ts',
  'test/api/catalog.ways.spec.ts',
  'test/api/sync.git.large.spec.ts',
  'test/system/service.resilience.spec.ts',
  'test/system/service.connections.spec.ts',
  'test/system/service.first-uses.spec.ts',
  'test/system/service.standby.spec.ts',
  'test/api/content.archives.spec.ts',
  'test/api/entries.catalogues.spec.ts',
  'test/system/entries.durability.spec.ts',
  'test/api/entries.concurrency.spec.ts',
  'test/api/entries.many-versions.spec.ts',
  'test/system/access.replicas.spec.ts',
  'test/api/marketplace.spec.ts',
  'test/api/sync.kubernetes.large.spec.ts',
  'test/api/catalog.paging.spec.ts',
  'test/api/catalogue.files.spec.ts',
  'test/api/claim-sets.spec.ts',
  'test/api/entries.versions.spec.ts',
  'test/api/versions.order.spec.ts',
  'test/system/webhooks.crash.spec.ts',
];

// Separate from the other tests: takes many minutes, and measurements of speed and memory need an idle
// machine.
export default defineConfig({
  test: {
    include: ['test/soak/**/*.spec.ts', ...LONGER_HERE],
    env: { SOAK: 'true' },
    globalSetup: ['test/support/database.setup.ts'],
    setupFiles: ['test/support/secrets.setup.ts'],
    server: { deps: { external: [/\/dist\//] } },
    testTimeout: 3_600_000,
    expect: { poll: { timeout: 120_000 } },
    hookTimeout: 1_800_000,
    fileParallelism: false,
    disableConsoleIntercept: true,
  },
});
