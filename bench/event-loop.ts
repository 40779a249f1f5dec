// Measures the longest time the event loop is held up while 10 000 servers of about 3 KB are synced into an empty source,
// and what a second sync of the same file costs. Needs a build; starts a PostgreSQL of its own and leaves nothing behind.
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Worker } from 'node:worker_threads';
import { loadConfig } from '#service/config/load-config.js';
import { startService } from '#service/service.js';
import { createLogger } from '#service/telemetry/logger.js';

const SERVERS = 10_000;
const ROUNDS = 3;

// The text is made in another thread: making it would hold up the very loop that is measured.
const MAKE = `
  const { writeFileSync } = require('node:fs');
  const { parentPort, workerData } = require('node:worker_threads');
  const servers = Array.from({ length: workerData.count }, (_, index) => ({
    name: 'com.example/s' + index, description: 'Server ' + index, version: '1.0.' + workerData.round,
    packages: [{ registryType: 'npm', identifier: 's' + index, transport: { type: 'stdio' } }],
    filler: Array.from({ length: 40 }, (_, n) => ({ key: 'value ' + n, text: 'x'.repeat(40) })),
  }));
  writeFileSync(workerData.file, JSON.stringify({
    version: '1.0.0', meta: { last_updated: '2026-01-01T00:00:00Z' }, data: { servers },
  }, null, 2));
  parentPort.close();`;

interface Sync {
  status: string;
  lastSuccessAt: string;
  counts: Record<string, number>;
}

const folder = await mkdtemp(join(tmpdir(), 'registry-bench-'));
await chmod(folder, 0o755);
const file = join(folder, 'catalogue.json');
const make = (round: number) =>
  new Promise<number>((resolve, reject) => {
    const worker = new Worker(MAKE, { eval: true, workerData: { file, count: SERVERS, round } });
    worker.once('error', reject);
    worker.once('exit', resolve);
  });
const configuration = join(folder, 'registry.yaml');
await writeFile(
  configuration,
  `auth: { mode: anonymous }
sources:
  - { name: main, file: { path: ${file} }, syncPolicy: { interval: 1s } }
registries:
  - { name: main, sources: [main] }
`,
);
await make(0);
const { config } = loadConfig(
  configuration,
  { REGISTRY_DATA_DIR: join(folder, 'data') },
  { address: '127.0.0.1:0', internalAddress: '127.0.0.1:0' },
);
const version = {
  version: '0',
  commit: '',
  build_date: '',
  node_version: process.version,
  platform: process.platform,
};
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const service = await startService(config, version, createLogger('silent'));
const source = async (): Promise<Sync> => {
  const reply = await fetch(`http://127.0.0.1:${service.publicPort}/v1/sources/main`);
  return ((await reply.json()) as { sync: Sync }).sync;
};
const settled = async (after: string): Promise<Sync> => {
  for (;;) {
    const sync = await source();
    if (sync.status === 'complete' && sync.lastSuccessAt > after) return sync;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};
const first = await settled('');
console.log(
  `start and first sync of ${first.counts['entries']} servers: longest block ${(delay.max / 1e6).toFixed(1)} ms`,
);
for (let round = 1; round <= ROUNDS; round += 1) {
  await make(round);
  delay.reset();
  const began = performance.now();
  const { counts } = await settled(new Date().toISOString());
  console.log(
    `round ${round}: ${counts['added']} added, ${counts['removed']} removed in ${Math.round(performance.now() - began)} ms, ` +
      `longest block ${(delay.max / 1e6).toFixed(1)} ms`,
  );
}
await service.stop();
await rm(folder, { recursive: true, force: true });
