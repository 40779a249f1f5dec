import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { ServedProcess } from '../support/process.js';
import { aName } from '../support/publishing.js';
import { aService } from '../support/service.js';
import { inSoak } from '../support/soak.js';

/** Exceeds the length that the server parses on its main thread. */
const LARGE = 'x'.repeat(200_000);
const PUBLISHER = 'io.modelcontextprotocol.registry/publisher-provided';

const service = aService({ mode: 'full' })
  .source('acme', { servers: [aServer('io.acme/weather')] })
  .source('made', { kind: 'managed' })
  .registry('main', { sources: ['acme', 'made'], marketplace: { name: 'acme', owner: 'Acme' } })
  .runs();

/** One connection, so that the server needs no descriptor for another. */
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
let served: ServedProcess;
beforeAll(async () => {
  served = await ServedProcess.start(service.configurationFile, service.issuer);
  expect(await send('GET', '/registry/main/v0.1/servers')).toBe(200);
});
afterAll(async () => {
  agent.destroy();
  await served.stop();
});

function send(method: string, path: string, body?: object): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = {
      Authorization: `Bearer ${service.issuer.sign(SUPER_ADMIN)}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
    };
    request(served.origin + path, { method, headers, agent }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    })
      .on('error', reject)
      .end(body && JSON.stringify(body));
  });
}

/** Lets the process open this many more files. */
function leave(free: number): void {
  const open = new Set(readdirSync(`/proc/${served.pid}/fd`).map(Number));
  const unused = Array.from({ length: 1_024 }, (_, number) => number).filter((number) => !open.has(number));
  execFileSync('prlimit', ['--pid', `${served.pid}`, `--nofile=${unused[free]}:`]);
}

const publish = (more = {}) => send('POST', '/v1/entries', { server: aServer(aName(), '1.0.0', more) });

it.each<[string, () => Promise<number>]>([
  [
    'MCP',
    () => send('POST', '/registry/main/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
  ],
  ['a large publication', () => publish({ _meta: { [PUBLISHER]: { LARGE } } })],
  [
    'a marketplace',
    () => send('GET', '/registry/main/git/marketplace.git/info/refs?service=git-upload-pack'),
  ],
  ['a compressed page', () => send('GET', '/registry/main/v0.1/servers?limit=7')],
  ['a ranked search', () => send('GET', '/registry/main/x/search?q=weather')],
  ['the OpenAPI document', () => send('GET', '/openapi.json')],
])(
  '%s returns 503 or works if descriptors run out at its first use, and works once there are some again',
  async (_what, use) => {
    for (const free of inSoak([0, 1, 2, 3, 5, 8], [0, 2])) {
      leave(free);
      const status = await use();
      leave(500);
      expect(status === 503 || status < 300, `${status} with ${free} descriptors`).toBe(true);
    }
    expect(await use()).toBeLessThan(300);
  },
);
