// Measures whether publishing gets slower: 10 000 entries while a managed source fills, then 3 000 versions of one name, one
// after another, over HTTP into a PostgreSQL that writes to disk (fsync as shipped). The last hundred of each are held
// against the first, both in units of what a twin that stays small takes in turn, so that a noisy machine hits all alike.
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '#service/config/load-config.js';
import { type RunningService, startService } from '#service/service.js';
import { createLogger } from '#service/telemetry/logger.js';

const ENTRIES = 10_000;
const VERSIONS = 3_000;
const HUNDRED = 100;
/** Published and removed again before anything is measured, so that the first hundred find everything warm. */
const WARM_UP = 500;
/** What is promised: the last hundred over the first hundred, by their medians. */
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
const version = {
  version: '0',
  commit: '',
  build_date: '',
  node_version: process.version,
  platform: process.platform,
};
const agent = new Agent({ keepAlive: true });

const serve = (data: string) => {
  const addresses = { address: '127.0.0.1:0', internalAddress: '127.0.0.1:0' };
  const { config } = loadConfig(configuration, { REGISTRY_DATA_DIR: join(folder, data) }, addresses);
  return startService(config, version, createLogger('error'));
};
const grows = await serve('grows');
const twin = await serve('twin');

function send(to: RunningService, method: string, path: string, body?: unknown): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' };
    const options = { host: '127.0.0.1', port: to.publicPort, method, path, headers, agent };
    const outgoing = request(options, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode));
    });
    outgoing.once('error', reject);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Of about 1.5 KB, each with words of its own for the search index. */
function document(name: string, version: string, number: number): object {
  return {
    $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
    name,
    title: `Service ${number.toString(36)}`,
    description: `Finds, reads and writes records of kind ${(number * 7_919).toString(36)}`,
    version,
    packages: [{ registryType: 'npm', identifier: `s-${number}`, transport: { type: 'stdio' } }],
    _meta: {
      'io.modelcontextprotocol.registry/publisher-provided': {
        tools: Array.from({ length: 20 }, (_, tool) => ({ name: `tool-${tool}`, does: 'x'.repeat(30) })),
      },
    },
  };
}

/** How long it takes to publish one more. */
async function publish(to: RunningService, name: string, version: string, number: number): Promise<number> {
  // One name has one team; names take turns.
  const claims = { org: 'acme', team: `team-${name.length % 10}` };
  const began = performance.now();
  const status = await send(to, 'POST', '/v1/entries', { server: document(name, version, number), claims });
  if (status !== 201) throw new Error(`${name} was answered with ${status}`);
  return performance.now() - began;
}

/** Publishes in the twin, and takes it back. */
async function publishInTwin(number: number): Promise<number> {
  const time = await publish(twin, 'com.example.tools/one', '1.0.0', number);
  await send(twin, 'DELETE', '/v1/entries/server/com.example.tools%2Fone/versions/1.0.0');
  return time;
}

/** Whether the last hundred took no longer than they may. */
async function measure(
  what: string,
  count: number,
  one: (number: number) => Promise<number>,
): Promise<boolean> {
  const times: number[] = [];
  const twins: number[] = [];
  for (let number = 0; number < count; number += 1) {
    times.push(await one(number));
    if (number < HUNDRED || number >= count - HUNDRED) twins.push(await publishInTwin(number));
    if (times.length % 1_000 === 0)
      console.log(`${what} up to ${times.length}: median ${median(times.slice(-1_000)).toFixed(2)} ms`);
  }
  const begin = { own: median(times.slice(0, HUNDRED)), twin: median(twins.slice(0, HUNDRED)) };
  const end = { own: median(times.slice(-HUNDRED)), twin: median(twins.slice(-HUNDRED)) };
  const ratio = end.own / end.twin / (begin.own / begin.twin);
  const shown = ({ own, twin }: typeof begin) => `${own.toFixed(2)} ms, twin ${twin.toFixed(2)} ms`;
  console.log(
    `publishing: the last ${HUNDRED} of ${count} ${what} take ${ratio.toFixed(2)} times as long as the first ` +
      `(at most ${TARGET}; medians: first ${shown(begin)}; last ${shown(end)})`,
  );
  return ratio <= TARGET;
}

function median(times: readonly number[]): number {
  return [...times].sort((one, other) => one - other)[Math.floor(times.length / 2)] ?? 0;
}

for (let number = 0; number < WARM_UP; number += 1) {
  await publish(grows, 'com.example.warm/s', `1.0.${number}`, number);
  await publishInTwin(number);
}
for (let number = 0; number < WARM_UP; number += 1)
  await send(grows, 'DELETE', `/v1/entries/server/com.example.warm%2Fs/versions/1.0.${number}`);
const entries = await measure('entries', ENTRIES, (number) =>
  publish(grows, `com.example.tools/s${number}`, '1.0.0', number),
);
const versions = await measure('versions of one name', VERSIONS, (number) =>
  publish(grows, 'com.example.tools/nightly', `1.0.${number}`, number),
);
agent.destroy();
await grows.stop();
await twin.stop();
await rm(folder, { recursive: true, force: true });
process.exitCode = entries && versions ? 0 : 1;
