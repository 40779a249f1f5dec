import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { SUPERUSER } from './postgres-process.js';

const PATIENCE_MS = 12_000;

/**
 * Ends the PostgreSQL that a `kill -9` of the server left running: it lives on for a moment, or longer if the guard was
 * killed too.
 *
 * @throws Error with a sentence for the administrator, when it has clients or does not end.
 */
export async function stopLeftOver(directory: string, log: (message: string) => void): Promise<void> {
  const pidFile = join(directory, 'postmaster.pid');
  const deadline = Date.now() + PATIENCE_MS;
  for (let asked = false; existsSync(pidFile);) {
    const [pid = '', , , port = '', socket = ''] = readFileSync(pidFile, 'utf8').split('\n');
    if (!isPostgres(Number(pid), directory)) return;
    const clients = asked ? 0 : await countClients(socket, Number(port));
    if (clients !== undefined && clients > 0)
      throw new Error(`${directory} is in use by another running registry (PostgreSQL process ${pid})`);
    if (clients !== undefined && !asked) {
      log(`Stopping a PostgreSQL left over from a server that was killed (process ${pid})`);
      process.kill(Number(pid), 'SIGINT');
      asked = true;
    }
    if (Date.now() > deadline)
      throw new Error(`PostgreSQL process ${pid} holds ${directory} and does not end`);
    await sleep(50);
  }
}

async function countClients(socket: string, port: number): Promise<number | undefined> {
  const client = new pg.Client({
    host: socket,
    port,
    user: SUPERUSER,
    database: 'postgres',
    connectionTimeoutMillis: 2_000,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
    );
    return rows[0]?.count ?? 0;
  } catch {
    return undefined;
  } finally {
    await client.end().catch(() => undefined);
  }
}

// A process id can have gone to somebody else since, and a zombie holds nothing.
function isPostgres(pid: number, directory: string): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (process.platform !== 'linux') return true;
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(directory);
  } catch {
    return false;
  }
}
