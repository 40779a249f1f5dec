import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { afterAll, expect, it } from 'vitest';
import { ACME_DATA } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { ServedProcess } from '../support/process.js';
import { aService } from '../support/service.js';

const service = aService({ mode: 'full' })
  .source('acme', { claims: { org: 'acme' }, servers: [aServer('io.acme/weather')] })
  .registry('main', { sources: ['acme'], claims: { org: 'acme' } })
  .runs();

/** One connection, so that the server needs no descriptor for another. */
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
afterAll(() => agent.destroy());

/** Leaves a process no descriptor, or many. */
function limitDescriptors(pid: number, isNone: boolean): void {
  const open = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
  let firstFree = 0;
  while (open.has(firstFree)) firstFree += 1;
  execFileSync('prlimit', ['--pid', `${pid}`, `--nofile=${isNone ? firstFree : 1_024}:`]);
}

it('MCP works once descriptors are back, if there were none when it was first used', async () => {
  const served = await ServedProcess.start(service.configurationFile, service.issuer);
  const status = (method: string, path: string, body?: object) =>
    new Promise<number>((resolve, reject) => {
      const headers = {
        Authorization: `Bearer ${service.issuer.sign(ACME_DATA)}`,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
      };
      request(`${served.origin}/registry/main${path}`, { method, headers, agent }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0));
      })
        .on('error', reject)
        .end(body && JSON.stringify(body));
    });
  const useMcp = () => status('POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
  try {
    expect(await status('GET', '/v0.1/servers')).toBe(200);
    limitDescriptors(served.pid, true);
    expect(await useMcp()).toBeGreaterThanOrEqual(500);
    limitDescriptors(served.pid, false);
    expect(await useMcp()).toBe(200);
  } finally {
    await served.stop();
  }
});
