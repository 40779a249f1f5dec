import { readdirSync, readlinkSync } from 'node:fs';
import { resolve } from 'node:path';
import { Cli } from './cli.js';
import { call, type Reply } from './http.js';

const VITALS = resolve(import.meta.dirname, 'vitals.mjs');

export interface Vitals {
  readonly heapUsed: number;
  readonly external: number;
  readonly rss: number;
  readonly cpuMs: number;
  /** Types of the resources that keep the event loop alive. */
  readonly resources: readonly string[];
}

/** A service in a separate process that reports its vitals. */
export class DayReplica {
  private constructor(
    private readonly cli: Cli,
    private readonly origin: string,
  ) {}

  static async start(configuration: string, environment: Record<string, string>): Promise<DayReplica> {
    const cli = Cli.serve(configuration, { NODE_OPTIONS: `--import ${VITALS}`, ...environment });
    return new DayReplica(cli, await cli.origin());
  }

  get pid(): number {
    return this.cli.child.pid ?? 0;
  }

  ask(path: string, method = 'GET', body?: unknown): Promise<Reply> {
    const headers = { 'Content-Type': 'application/json' };
    return call(
      this.origin + path,
      body === undefined ? { method } : { method, headers, body: JSON.stringify(body) },
    );
  }

  /** The error lines of its log. */
  errors(): string[] {
    return this.cli.output.split('\n').filter((line) => /"level":(50|60|"error"|"fatal")/.test(line));
  }

  async vitals(): Promise<Vitals> {
    const from = this.cli.output.length;
    process.kill(this.pid, 'SIGUSR2');
    for (;;) {
      const line = /^\{"vitals":.*\}$/m.exec(this.cli.output.slice(from))?.[0];
      if (line !== undefined) return (JSON.parse(line) as { vitals: Vitals }).vitals;
      await new Promise((done) => setTimeout(done, 10));
    }
  }

  /** Number of open files, sockets and pipes. */
  openFiles(): number {
    return readdirSync(`/proc/${this.pid}/fd`).length;
  }

  /** @returns the exit code. */
  async stop(): Promise<number | null> {
    this.cli.child.kill('SIGTERM');
    return (await this.cli.finished).code;
  }

  async kill(): Promise<void> {
    this.cli.child.kill('SIGKILL');
    await this.cli.finished;
  }
}

/** Processes whose working directory is below this one. */
export function processesIn(directory: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readlinkSync(`/proc/${pid}/cwd`).startsWith(directory);
    } catch {
      return false;
    }
  });
}
