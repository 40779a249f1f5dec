import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Demo } from './demo.js';

const ROOT = resolve(import.meta.dirname, '../..');

await import(resolve(ROOT, 'demo/refuse-production.mjs'));

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '8080' },
    'provider-port': { type: 'string', default: '9400' },
  },
});

let starting: Promise<Demo> | undefined;
let stopping = false;
const stop = async (code: number) => {
  // Ctrl-C arrives twice: from the terminal and from npm.
  if (stopping) return;
  stopping = true;
  await starting?.then((demo) => demo.stop()).catch(() => undefined);
  process.exit(code);
};
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void stop(0));

try {
  const { startDemo } = await import('./demo.js');
  const { welcome } = await import('./welcome.js');
  starting = startDemo({
    configuration: resolve(ROOT, 'demo/registry.yaml'),
    program: resolve(ROOT, 'dist/main.js'),
    port: portOf(values.port),
    providerPort: portOf(values['provider-port']),
  });
  const demo = await starting;
  void demo.lost.then((reason) => {
    if (!stopping) console.error(`The server ended: ${reason}`);
    void stop(1);
  });
  const text = await welcome(demo);
  if (!stopping) console.log(text);
} catch (error) {
  console.error(`The demo could not start: ${reasonOf(error)}`);
  await stop(1);
}

function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535)
    throw new Error(`${text} is not a port: it must be a number from 1 to 65535`);
  return port;
}

function reasonOf(error: unknown): string {
  const { code, port, message } = error as NodeJS.ErrnoException & { port?: number };
  return code === 'EADDRINUSE'
    ? `port ${port} is in use already; choose others, as in npm run demo -- --port 8090 --provider-port 9490`
    : message;
}
