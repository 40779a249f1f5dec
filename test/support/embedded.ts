import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { Cli } from './cli.js';
import { aCatalogue, aServer } from './documents.js';

/** A place for services that bring their own PostgreSQL. */
export class EmbeddedFolder {
  private constructor(readonly path: string) {}

  static async create(): Promise<EmbeddedFolder> {
    const path = await mkdtemp(join(tmpdir(), 'registry-embedded-'));
    // When we are root, PostgreSQL runs as somebody else and has to get in.
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

  /** A service of its own process, with its data in this subfolder. */
  serve(data: string): Cli {
    return Cli.serve(join(this.path, 'registry.yaml'), { REGISTRY_DATA_DIR: join(this.path, data) });
  }

  /** The service, once it is ready. */
  async serving(data: string): Promise<Cli> {
    const cli = this.serve(data);
    await cli.logs('"Ready"');
    return cli;
  }

  postmasterFile(data: string): string {
    return join(this.path, data, 'postgres', 'postmaster.pid');
  }

  /** What the running PostgreSQL says of itself. */
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

/** The processes this one started, which for a service are its PostgreSQL and the guard of it. */
export async function childrenOf(parent: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=']);
  const pairs = stdout.split('\n').map((line) => line.trim().split(/\s+/).map(Number));
  return pairs.flatMap(([pid, ppid]) => (pid !== undefined && ppid === parent ? [pid] : []));
}

/** Ends the service with `kill -9`, and these of its children before it can do anything about it. */
export async function killNine(cli: Cli, children: readonly number[]): Promise<void> {
  // The guard is a shell with a child of its own: it leads a group.
  for (const pid of children) process.kill(-pid, 'SIGKILL');
  cli.child.kill('SIGKILL');
  await cli.finished;
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
