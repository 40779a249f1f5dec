// Measures whether publishing gets slower while a managed source fills: 10 000 entries, one after another, over HTTP into a
// PostgreSQL that writes to disk (fsync as shipped). The last hundred are held against the first.
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '#service/config/load-config.js';
import { startService } from '#service/service.js';
import { createLogger } from '#service/telemetry/logger.js';

const ENTRIES = 10_000;
const HUNDRED = 100;
/** Published and removed again before anything is measured, so that the first hundred find everything warm. */
const WARM_UP = 500;
/** What the issue promises: the last hundred over the first hundred, by their medians. */
const TARGET = 1.5;

const folder = await mkdtemp(join(tmpdir(), 'registry-bench-'));
await chmod(folder, 0o755);
const configuration = join(folder, 'registry.yaml');
await writeFile(
  configuration,
  `auth: { mode: anonymous }
sources:
  - { name: tools, managed: {} }
registries:
  - { name: main, sources: [tools] }
`,
);
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
const service = await startService(config, version, createLogger('silent'));
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

function send(method: string, path: string, body?: unknown): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' };
    const options = { host: '127.0.0.1', port: service.publicPort, method, path, headers, agent };
    const outgoing = request(options, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode));
    });
    outgoing.once('error', reject);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Of about 1.5 KB, each with words of its own for the search index. */
function document(name: string, number: number): object {
  return {
    $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
    name,
    title: `Service ${number.toString(36)}`,
    description: `Finds, reads and writes records of kind ${(number * 7_919).toString(36)}`,
    version: '1.0.0',
    packages: [{ registryType: 'npm', identifier: `s-${number}`, transport: { type: 'stdio' } }],
    _meta: {
      'io.modelcontextprotocol.registry/publisher-provided': {
        tools: Array.from({ length: 20 }, (_, tool) => ({ name: `tool-${tool}`, does: 'x'.repeat(30) })),
      },
    },
  };
}

async function publish(name: string, number: number): Promise<number> {
  const body = { server: document(name, number), claims: { org: 'acme', team: `team-${number % 10}` } };
  const began = performance.now();
  const status = await send('POST', '/v1/entries', body);
  if (status !== 201) throw new Error(`${name} was answered with ${status}`);
  return performance.now() - began;
}

for (let number = 0; number < WARM_UP; number += 1) await publish(`com.example.warm/s${number}`, number);
for (let number = 0; number < WARM_UP; number += 1)
  await send('DELETE', `/v1/entries/server/com.example.warm%2Fs${number}/versions/1.0.0`);

const times: number[] = [];
for (let number = 0; number < ENTRIES; number += 1)
  times.push(await publish(`com.example.tools/s${number}`, number));

const median = (part: readonly number[]) => [...part].sort((one, other) => one - other)[part.length / 2] ?? 0;
for (let first = 0; first < ENTRIES; first += ENTRIES / 10) {
  const part = times.slice(first, first + ENTRIES / 10);
  console.log(
    `entries ${first + 1} to ${first + part.length}: median ${median(part).toFixed(2)} ms, ` +
      `longest ${Math.max(...part).toFixed(0)} ms`,
  );
}
const begin = median(times.slice(0, HUNDRED));
const end = median(times.slice(-HUNDRED));
const ratio = end / begin;
console.log(
  `publishing: the last ${HUNDRED} of ${ENTRIES} take ${ratio.toFixed(2)} times as long as the first ` +
    `(at most ${TARGET}; medians ${end.toFixed(2)} ms and ${begin.toFixed(2)} ms)`,
);
agent.destroy();
await service.stop();
await rm(folder, { recursive: true, force: true });
process.exitCode = ratio <= TARGET ? 0 : 1;
