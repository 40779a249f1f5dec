import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { vi } from 'vitest';

const MAIN = resolve(import.meta.dirname, '../../dist/main.js');

export interface Finished {
  readonly code: number | null;
  readonly output: string;
}

/**
 * What a command does and writes, in this process: for all that does not need a process of its own, which takes much longer to start than
 * most commands take.
 */
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

/** The program as a process of its own, as an administrator starts it. */
export class Cli {
  readonly child: ChildProcess;
  readonly finished: Promise<Finished>;
  output = '';

  constructor(args: string[], environment: Record<string, string> = {}) {
    // Without the time that balancers are given at the end.
    const env = { PATH: process.env['PATH'] ?? '', REGISTRY_SHUTDOWN_NOTICE: '0s', ...environment };
    this.child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    this.finished = new Promise((done) =>
      this.child.once('close', (code) => done({ code, output: this.output })),
    );
  }

  /** A service at ports that are free. */
  static serve(configuration: string, environment: Record<string, string> = {}): Cli {
    const addresses = ['--address', '127.0.0.1:0', '--internal-address', '127.0.0.1:0'];
    return new Cli(['serve', '--config', configuration, ...addresses], environment);
  }

  /** Where a service is, once it is ready. */
  async origin(): Promise<string> {
    const log = await this.logs('"Ready"');
    const [, origin] = /"registries":"(http:\/\/[^/"]+)/.exec(log) ?? [];
    if (origin === undefined) throw new Error(`A service that does not say where it is:\n${log}`);
    return origin;
  }

  /** Resolves once the log holds the text, or what matches; rejects when the process ends before that. */
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
