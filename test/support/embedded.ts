import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { Cli } from './cli.js';
import { aCatalogue, aServer } from './documents.js';

const EMBEDDED = resolve(import.meta.dirname, '../../dist/database/embedded/embedded-postgres.js');
const OWNER = `
  const { startEmbeddedPostgres } = await import(${JSON.stringify(EMBEDDED)});
  await startEmbeddedPostgres(process.argv[1]);
  process.stdout.write('Ready');
`;

/** A directory for services that use the embedded PostgreSQL. */
export class EmbeddedFolder {
  private constructor(readonly path: string) {}

  static async create(): Promise<EmbeddedFolder> {
    const path = await mkdtemp(join(tmpdir(), 'registry-embedded-'));
    // If the tests run as root, PostgreSQL runs as another user, which must be able to enter this directory.
    await chmod(path, 0o755);
    const config = {
      auth: { mode: 'anonymous' },
      sources: [{ name: 'catalog', file: { path: 'catalog.json' }, syncPolicy: { interval: '1h' } }],
      registries: [{ name: 'main', sources: ['catalog'] }],
    };
    await writeFile(join(path, 'registry.yaml'), JSON.stringify(config));
    await writeFile(join(path, 'catalog.json'), JSON.stringify(aCatalogue([aServer('io.acme/a')])));
    return new EmbeddedFolder(path);
  }

  /** Starts a service process with its data in this subdirectory. */
  serve(data: string): Cli {
    return Cli.serve(join(this.path, 'registry.yaml'), { REGISTRY_DATA_DIR: join(this.path, data) });
  }

  /** The data directory of that service's PostgreSQL. */
  postgres(data: string): string {
    return join(this.path, data, 'postgres');
  }

  /** Starts a process that runs only the embedded PostgreSQL of this subdirectory: faster than a whole service. */
  own(data: string): ChildProcess {
    return spawn(process.execPath, ['--input-type=module', '-e', OWNER, this.postgres(data)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  }

  /** Starts that process, and resolves once its PostgreSQL is running. */
  async owning(data: string): Promise<ChildProcess> {
    const owner = this.own(data);
    const ended = once(owner, 'exit').then(() => Promise.reject(new Error('The owner has exited')));
    await Promise.race([once(owner.stdout ?? owner, 'data'), ended]);
    ended.catch(() => undefined);
    return owner;
  }

  postmasterFile(data: string): string {
    return join(this.postgres(data), 'postmaster.pid');
  }

  /** The running PostgreSQL according to its postmaster.pid. */
  postmaster(data: string): { pid: number; client: () => Promise<pg.Client> } {
    const [pid = '', , , port = '', host = ''] = readFileSync(this.postmasterFile(data), 'utf8').split('\n');
    const client = async () => {
      const made = new pg.Client({ host, port: Number(port), user: 'registry', database: 'postgres' });
      made.on('error', () => undefined);
      await made.connect();
      return made;
    };
    return { pid: Number(pid), client };
  }

  remove(): Promise<void> {
    return rm(this.path, { recursive: true, force: true });
  }
}

/** Child processes of `parent`: for a service, PostgreSQL and the guard. */
export async function childrenOf(parent: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=']);
  const pairs = stdout.split('\n').map((line) => line.trim().split(/\s+/).map(Number));
  return pairs.flatMap(([pid, ppid]) => (pid !== undefined && ppid === parent ? [pid] : []));
}

/** Sends SIGKILL to the process and these children simultaneously. */
export async function killNine(owner: ChildProcess, children: readonly number[]): Promise<void> {
  const closed = once(owner, 'close');
  // The guard is a shell with a child and leads a process group.
  for (const pid of children) process.kill(-pid, 'SIGKILL');
  owner.kill('SIGKILL');
  await closed;
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
