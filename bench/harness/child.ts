import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Dispatcher, Pool } from 'undici';
import { readEnvironment } from '#service/config/environment.js';
import type { Usage } from './probe.js';

const PROBE = new URL('./probe.js', import.meta.url).href;
const PATIENCE_MS = 60_000;
const ASK_EVERY_MS = 3;

export interface ChildOptions {
  readonly nodeArguments?: readonly string[];
  /** Added to this process's environment. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Returns 200 once the child is ready. */
  readonly readiness: { readonly port: number; readonly path: string };
  readonly port: number;
}

/** A measured HTTP server in a separate process. It logs as usual; the output is discarded. */
export class Child {
  private readonly http: Pool;

  private constructor(
    readonly url: string,
    /** The internal server's URL. */
    readonly internalUrl: string,
    /** Since the start of the process. */
    readonly readyAfterMs: number,
    private readonly process: ChildProcess,
  ) {
    this.http = new Pool(url, { connections: 10 });
  }

  static async start(command: readonly string[], options: ChildOptions): Promise<Child> {
    const began = performance.now();
    const args = ['--import', PROBE, ...(options.nodeArguments ?? []), ...command];
    const child = spawn(process.execPath, args, {
      env: { ...readEnvironment(), ...options.environment },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const { port, path } = options.readiness;
    const internalUrl = `http://127.0.0.1:${port}`;
    while (!(await isReady(`${internalUrl}${path}`))) {
      if (child.exitCode !== null) throw new Error(`${command.join(' ')} exited with ${child.exitCode}`);
      if (performance.now() - began > PATIENCE_MS) throw new Error(`${command.join(' ')} is not ready`);
      await sleep(ASK_EVERY_MS);
    }
    const readyAfterMs = performance.now() - began;
    return new Child(`http://127.0.0.1:${options.port}`, internalUrl, readyAfterMs, child);
  }

  /** @throws Error for any status but 200. */
  async get(path: string, token: string): Promise<string> {
    return this.send({ method: 'GET', path, headers: { authorization: `Bearer ${token}` } });
  }

  /** @throws Error for any status but 200. */
  async post(path: string, token: string, sent: object): Promise<string> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    return this.send({ method: 'POST', path, headers, body: JSON.stringify(sent) });
  }

  private async send(request: Dispatcher.RequestOptions): Promise<string> {
    const { statusCode, body } = await this.http.request(request);
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`${request.path}: ${statusCode} ${text.slice(0, 500)}`);
    return text;
  }

  /** Whether it exited or was killed. */
  get hasEnded(): boolean {
    return this.process.exitCode !== null || this.process.signalCode !== null;
  }

  /** @throws Error when the process has exited. */
  async usage(): Promise<Usage> {
    if (this.hasEnded) throw new Error('The process has exited');
    const ended = new AbortController();
    const onExit = () => ended.abort();
    this.process.once('exit', onExit);
    try {
      this.process.send({}, () => undefined);
      const [usage] = (await once(this.process, 'message', { signal: ended.signal })) as [Usage];
      return usage;
    } finally {
      this.process.off('exit', onExit);
    }
  }

  async stop(): Promise<void> {
    await this.http.close();
    if (this.hasEnded) return;
    const ended = once(this.process, 'exit');
    this.process.kill('SIGTERM');
    await ended;
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function isReady(url: string): Promise<boolean> {
  try {
    const reply = await fetch(url);
    await reply.text();
    return reply.status === 200;
  } catch {
    return false;
  }
}
