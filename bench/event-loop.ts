import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Worker } from 'node:worker_threads';
import { loadConfig } from '#service/config/load-config.js';
import { startService } from '#service/service.js';
import { createLogger } from '#service/telemetry/logger.js';
import { atMost, type Figure, figure } from './harness/figure.js';
import { say } from './harness/report.js';
import type { Stage } from './harness/stage.js';

const SERVERS = 10_000;
const VERSION = { version: '0', commit: '', build_date: '', node_version: '', platform: process.platform };

// The text is made in another thread: making it would hold up the very loop that is measured.
const MAKE = `
  const { writeFileSync } = require('node:fs');
  const { workerData } = require('node:worker_threads');
  import(workerData.documents).then(({ nameOf, serverDocument }) => {
    const servers = Array.from({ length: workerData.count }, (_, number) =>
      serverDocument(nameOf(number, 1), '1.0.' + workerData.round, number, 1));
    writeFileSync(workerData.file, JSON.stringify({
      version: '1.0.0', meta: { last_updated: '2026-01-01T00:00:00Z' }, data: { servers },
    }, null, 2));
  });`;
const DOCUMENTS = new URL('./data/documents.js', import.meta.url).href;

interface Sync {
  status: string;
  lastSuccessAt: string;
}

/** The longest time the event loop is held up while 10 000 servers are synced, and synced again as other versions. */
export async function measureEventLoop({ folder }: Stage, quick: boolean): Promise<Figure[]> {
  const file = join(folder, 'event-loop.json');
  const make = (round: number) =>
    new Promise<void>((resolve, reject) => {
      const workerData = { file, count: SERVERS, round, documents: DOCUMENTS };
      const worker = new Worker(MAKE, { eval: true, workerData });
      worker.once('error', reject);
      worker.once('exit', () => resolve());
    });
  await make(0);
  const configuration = join(folder, 'event-loop.yaml');
  const sources = [{ name: 'main', file: { path: file }, syncPolicy: { interval: '1s' } }];
  const registries = [{ name: 'main', sources: ['main'] }];
  await writeFile(configuration, JSON.stringify({ auth: { mode: 'anonymous' }, sources, registries }));
  const environment = { REGISTRY_DATA_DIR: join(folder, 'event-loop') };
  const addresses = { address: '127.0.0.1:0', internalAddress: '127.0.0.1:0' };
  const { config } = loadConfig(configuration, environment, addresses);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const service = await startService(config, VERSION, createLogger('silent'));
  const settled = async (after: string) => {
    for (;;) {
      const reply = await fetch(`http://127.0.0.1:${service.publicPort}/v1/sources/main`);
      const { sync } = (await reply.json()) as { sync: Sync };
      if (sync.status === 'complete' && sync.lastSuccessAt > after) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  await settled('');
  const blocks: number[] = [];
  delay.enable();
  for (let round = 1; round <= (quick ? 2 : 5); round += 1) {
    say(`event loop, round ${round}`);
    await make(round);
    delay.reset();
    await settled(new Date().toISOString());
    blocks.push(delay.max / 1e6);
  }
  delay.disable();
  await service.stop();
  return [figure('sync of 10k servers', 'longest block of the event loop in ms', blocks, atMost(50))];
}
