import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { createDataSource } from '../../dist/database/data-source.js';
import { startEmbeddedPostgres } from '../../dist/database/embedded/embedded-postgres.js';
import { migrateUp } from '../../dist/database/migrate.js';

declare module 'vitest' {
  export interface ProvidedContext {
    postgres: { host: string; port: number; user: string; template: string };
  }
}

/** One PostgreSQL a run. Test files take copies of a database that is migrated once. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(join(tmpdir(), 'registry-test-'));
  // mkdtemp makes it 0700 for us; when we are root, PostgreSQL runs as somebody else and has to get in.
  const { chmod } = await import('node:fs/promises');
  await chmod(directory, 0o755);
  const server = await startEmbeddedPostgres(join(directory, 'postgres'), {
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '200' },
  });
  const { host, port, user, database } = server.connection;
  const template = createDataSource({ host, port, user, database, poolMax: 2 }, [], () => undefined);
  await template.initialize();
  await migrateUp(template);
  await template.destroy();
  project.provide('postgres', { host, port, user, template: database });
  return async () => {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  };
}
