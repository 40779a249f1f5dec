import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { freePort } from '../support/free-port.js';

const MAIN = resolve(import.meta.dirname, '../../dist/demo/main.js');

/** Runs the demo (`npm run demo`) on free ports. */
export class DemoProcess {
  output = '';
  origin = '';
  private child: ChildProcess | undefined;

  async start(): Promise<void> {
    const [port, providerPort] = [await freePort(), await freePort()];
    this.origin = `http://127.0.0.1:${port}`;
    const child = spawn(process.execPath, [MAIN, `--port=${port}`, `--provider-port=${providerPort}`], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child = child;
    const ready = new Promise<void>((done, fail) => {
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => {
          this.output += chunk.toString();
          if (this.output.includes('Ctrl-C ends the demo')) done();
        });
      child.once('exit', () => fail(new Error(`The demo exited before it was ready:\n${this.output}`)));
    });
    await ready;
  }

  /** Stops it like Ctrl-C. */
  async stop(): Promise<number | null> {
    if (!this.child) return null;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGINT');
    const [code] = (await ended) as [number | null];
    return code;
  }

  /** The token that the demo prints for this user. */
  tokenOf(user: string): string {
    const token = new RegExp(`^${user},[^]*?Bearer ([\\w.-]+)'`, 'm').exec(this.output)?.[1];
    if (token === undefined) throw new Error(`The demo printed no token for ${user}:\n${this.output}`);
    return token;
  }
}
