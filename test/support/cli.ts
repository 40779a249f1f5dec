import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { vi } from 'vitest';

const MAIN = resolve(import.meta.dirname, '../../dist/main.js');

export interface Finished {
  readonly code: number | null;
  readonly output: string;
}

/** Runs a command in this process and captures its output: much faster than a separate process. */
export async function printed(command: () => Promise<number>): Promise<Finished> {
  let output = '';
  const writes = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, 'write').mockImplementation((text) => {
      output += String(text);
      return true;
    }),
  );
  try {
    return { code: await command(), output };
  } finally {
    for (const write of writes) write.mockRestore();
  }
}

/** Runs the program in a separate process, as an administrator would. */
export class Cli {
  readonly child: ChildProcess;
  readonly finished: Promise<Finished>;
  output = '';

  /** @param descriptors how many files the process may open. */
  constructor(
    args: string[],
    environment: Record<string, string> = {},
    program = MAIN,
    descriptors: number | 'unlimited' = 'unlimited',
  ) {
    // Skips the shutdown notice for load balancers.
    const env = { PATH: process.env['PATH'] ?? '', REGISTRY_SHUTDOWN_NOTICE: '0s', ...environment };
    const command = [process.execPath, program, ...args];
    const limited = ['/bin/sh', '-c', `ulimit -n ${descriptors}; exec "$@"`, 'sh', ...command];
    const [file = '', ...rest] = descriptors === 'unlimited' ? command : limited;
    this.child = spawn(file, rest, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    this.finished = new Promise((done) =>
      this.child.once('close', (code) => done({ code, output: this.output })),
    );
  }

  /** Serves on free ports. */
  static serve(
    configuration: string,
    environment: Record<string, string> = {},
    program = MAIN,
    descriptors: number | 'unlimited' = 'unlimited',
  ): Cli {
    const addresses = ['--address', '127.0.0.1:0', '--internal-address', '127.0.0.1:0'];
    return new Cli(['serve', '--config', configuration, ...addresses], environment, program, descriptors);
  }

  /** The origin of the service, once it is ready. */
  async origin(): Promise<string> {
    const log = await this.logs('"Ready"');
    const [, origin] = /"registries":"(http:\/\/[^/"]+)/.exec(log) ?? [];
    if (origin === undefined) throw new Error(`The service logged no address:\n${log}`);
    return origin;
  }

  /** Resolves once the log matches; rejects when the process ends first. */
  async logs(text: string | RegExp): Promise<string> {
    let over = false;
    void this.finished.then(() => (over = true));
    while (!(text instanceof RegExp ? text.test(this.output) : this.output.includes(text))) {
      if (over) throw new Error(`The process ended before it logged ${String(text)}:\n${this.output}`);
      await new Promise((done) => setTimeout(done, 20));
    }
    return this.output;
  }
}
