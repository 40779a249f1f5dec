import { randomUUID } from 'node:crypto';
import { chmod, mkdtemp, readdir, rm, statfs } from 'node:fs/promises';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../dist/database/embedded/embedded-postgres.js';
import { migrateUp } from '../../dist/database/migrate.js';
import { createDataSource } from '../../dist/database/open-database.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** `pooler`: port of a pooler that services use; null without one. */
    postgres: { host: string; port: number; user: string; template: string; pooler: number | null };
  }
}

const PREFIX = 'registry-test-';
const IN_MEMORY = '/dev/shm';
/** Several times the space a run needs. */
const ROOM_BYTES = 6 * 1024 ** 3;

/**
 * Starts one PostgreSQL server per run. TEST_POSTGRES, such as `postgres://registry@127.0.0.1:5414/postgres`, specifies
 * another server to use instead. With TEST_POOLER_PORT, services connect through a pooler on that port. One database is
 * migrated, and each test file copies it.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const other = process.env['TEST_POSTGRES'];
  if (other) return useOther(project, new URL(other));
  const directory = await mkdtemp(join(await roomyFolder(), `${PREFIX}${process.pid}-`));
  // mkdtemp creates 0700; when run as root, PostgreSQL runs as another user and needs access.
  await chmod(directory, 0o755);
  const server = await startEmbeddedPostgres(join(directory, 'postgres'), {
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' },
  });
  const { host, port, user, database } = server.connection;
  await migrated({ host, port, user, database });
  project.provide('postgres', { host, port, user, template: database, pooler: null });
  return async () => {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  };
}

/** Uses tmpfs on Linux where there is space: the data is discarded soon. */
async function roomyFolder(): Promise<string> {
  try {
    for (const name of await readdir(IN_MEMORY))
      if (isLeftOver(name)) await rm(join(IN_MEMORY, name), { recursive: true });
    const { bavail, bsize } = await statfs(IN_MEMORY);
    if (Math.min(bavail * bsize, freemem()) > ROOM_BYTES) return IN_MEMORY;
  } catch {
    // No file system in memory is available.
  }
  return tmpdir();
}

/** Whether this directory was left over from a killed run. */
function isLeftOver(name: string): boolean {
  const [, pid] = new RegExp(`^${PREFIX}(\\d+)-`).exec(name) ?? [];
  if (pid === undefined) return false;
  try {
    return !process.kill(Number(pid), 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

async function useOther(
  project: TestProject,
  { hostname: host, port, username: user }: URL,
): Promise<() => Promise<void>> {
  const where = { host, port: Number(port), user };
  const template = `template_${randomUUID().replaceAll('-', '')}`;
  const admin = new pg.Client({ ...where, database: 'postgres' });
  await admin.connect();
  await admin.query(`create database ${template}`);
  await migrated({ ...where, database: template });
  const pooler = Number(process.env['TEST_POOLER_PORT']) || null;
  project.provide('postgres', { ...where, template, pooler });
  return async () => {
    await admin.query(`drop database ${template}`);
    await admin.end();
  };
}

async function migrated(where: {
  host: string;
  port: number;
  user: string;
  database: string;
}): Promise<void> {
  const template = createDataSource({ ...where, poolMax: 2 }, [], () => undefined);
  await template.initialize();
  await migrateUp(template);
  await template.destroy();
}
