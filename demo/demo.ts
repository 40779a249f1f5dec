import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parse, stringify } from 'yaml';
import { type DemoProvider, startDemoProvider } from './provider.js';

export interface DemoOptions {
  /** Path of the configuration, which has one identity provider on loopback. */
  readonly configuration: string;
  /** The program to serve with: `dist/main.js`. */
  readonly program: string;
  /** Ports of the API and the provider; `providerPort` 0: any free port. */
  readonly port: number;
  readonly providerPort: number;
}

export interface Demo {
  /** Origin of the API. */
  readonly origin: string;
  readonly issuer: string;
  tokenFor(user: string): Promise<string>;
  /** Resolves with a reason when the server exits. */
  readonly lost: Promise<string>;
  /** Stops everything and removes the data. */
  stop(): Promise<void>;
}

/** The configured parts that the demo reads or replaces. */
interface DemoConfiguration {
  auth: {
    oauth: {
      resourceUrl: string;
      scopesSupported: string[];
      providers: { issuerUrl: string; audience: string }[];
    };
  };
  sources: { file?: { path: string } }[];
}

/** Starts the identity provider and `registry-server serve`, both on loopback. The data is removed at the end. */
export async function startDemo({ configuration, program, port, providerPort }: DemoOptions): Promise<Demo> {
  const folder = await mkdtemp(join(tmpdir(), 'registry-demo-'));
  // mkdtemp creates 0700; when run as root, PostgreSQL runs as another user and needs access.
  await chmod(folder, 0o755);
  let provider: DemoProvider | undefined;
  let server: ChildProcess | undefined;
  const stop = async () => {
    await ended(server);
    await provider?.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const origin = `http://127.0.0.1:${port}`;
    const settings = parse(await readFile(configuration, 'utf8')) as DemoConfiguration;
    const { oauth } = settings.auth;
    const [only] = oauth.providers;
    if (!only) throw new Error(`${configuration} names no identity provider`);
    const { audience } = only;
    const running = await startDemoProvider({ port: providerPort, audience, scopes: oauth.scopesSupported });
    provider = running;
    // The file has the default ports; options can override them.
    only.issuerUrl = running.issuer;
    oauth.resourceUrl = origin;
    for (const { file } of settings.sources) if (file) file.path = resolve(dirname(configuration), file.path);
    const config = join(folder, 'registry.yaml');
    await writeFile(config, stringify(settings));

    const internal = `127.0.0.1:${await freePort()}`;
    server = spawn(
      process.execPath,
      [
        program,
        'serve',
        '--config',
        config,
        '--address',
        `127.0.0.1:${port}`,
        '--internal-address',
        internal,
      ],
      {
        stdio: 'inherit',
        env: { ...process.env, REGISTRY_DATA_DIR: join(folder, 'data'), REGISTRY_SHUTDOWN_NOTICE: '0s' },
      },
    );
    const lost = once(server, 'exit').then(([code]) => `exit code ${code}`);
    await Promise.race([ready(`http://${internal}/readiness`), lost.then(failed)]);
    return { origin, issuer: running.issuer, tokenFor: (user) => running.tokenFor(user), lost, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function failed(reason: string): never {
  throw new Error(`the server did not start (${reason})`);
}

async function ready(url: string): Promise<void> {
  const isReady = () =>
    fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady())) await pause(100);
}

async function ended(server: ChildProcess | undefined): Promise<void> {
  if (!server || server.exitCode !== null || server.signalCode !== null) return;
  const exit = once(server, 'exit');
  server.kill('SIGTERM');
  await exit;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}
