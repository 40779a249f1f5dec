import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { Cli } from '../support/cli.js';
import { aDatabase, type TestDatabase } from '../support/database.js';
import { aServer, type Document } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { call } from '../support/http.js';
import { addCopies } from '../support/managed-entries.js';

const MIB = 1024 * 1024;
const CLIENTS = ['vscode', 'copilot', 'claude-code', 'cursor'];
const CONFIG = '/registry/default/v0.1/x/client-config?client=';
const LARGE = 40;
/** Number of servers that are published instead of copied. */
const PUBLISHED = LARGE;
const LONG = 180;
const SLOW = 10;
const READERS = 32;

interface Config {
  servers?: Record<string, object>;
  mcpServers?: Record<string, object>;
  'x-omitted'?: { name: string; reason: string }[];
}

describe('client configurations of a registry that one publisher filled, with a heap of 256 MiB', () => {
  const folder = aFolder();
  let database: TestDatabase;
  let served: Cli;
  let origin: string;
  beforeAll(async () => {
    database = await aDatabase();
    const configuration = {
      auth: { mode: 'anonymous' },
      database: database.connection,
      sources: [{ name: 'published', managed: {} }],
      registries: [{ name: 'default', sources: ['published'] }],
    };
    served = Cli.serve(folder.write('registry.yaml', stringify(configuration)), {
      NODE_OPTIONS: '--max-old-space-size=256',
    });
    origin = await served.origin();
    await publish(aServer('io.acme/weather', '1.0.0', remote('https://weather.acme.example/mcp')));
  });
  afterAll(async () => {
    served.child.kill('SIGTERM');
    await served.finished;
    await database.drop();
  });

  const remote = (url: string): Document => ({ remotes: [{ type: 'streamable-http', url }] });
  async function publish(server: Document): Promise<void> {
    const headers = { 'Content-Type': 'application/json' };
    const reply = await call(`${origin}/v1/entries`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ server }),
    });
    expect(reply.status).toBe(201);
  }
  /** Requests a configuration and reads only the beginning of the response; returns its status. */
  async function begin(sockets: Socket[], client = 'vscode', localAddress = '127.0.0.1'): Promise<string> {
    const socket = connect({ port: Number(new URL(origin).port), host: '127.0.0.1', localAddress });
    sockets.push(socket.on('error', () => undefined));
    socket.write(`GET ${CONFIG}${client} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    const [head] = (await once(socket, 'data')) as [Buffer];
    socket.pause();
    const text = head.toString();
    return `${text.slice(9, 12)}${/retry-after/i.exec(text) ? ' later' : ''}`;
  }
  const serversOf = ({ servers, mcpServers }: Config) => Object.keys(servers ?? mcpServers ?? {});
  function expectBoundedMemory(): void {
    // Only Linux reports the peak.
    const status =
      process.platform === 'linux' ? readFileSync(`/proc/${served.child.pid}/status`, 'utf8') : '';
    expect(Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024).toBeLessThan(400 * MIB);
  }

  it('omit 40 servers of 1 MB, and contain the others', async () => {
    const notes = 'x'.repeat(1_000_000);
    for (let count = 0; count < PUBLISHED; count += 1)
      await publish(
        aServer(`io.evil/large-${count}`, '1.0.0', { ...remote('https://evil.example/'), notes }),
      );
    await addCopies({ database }, 'io.evil/large-0', LARGE - PUBLISHED);
    const replies = await Promise.all(CLIENTS.map((client) => call(`${origin}${CONFIG}${client}`)));
    for (const { status, headers, json } of replies) {
      expect(status).toBe(200);
      expect(headers['x-omitted-count']).toBe(String(LARGE));
      expect(serversOf(json)).toEqual(['io.acme/weather']);
      const omitted = (json as Config)['x-omitted'] ?? [];
      expect(new Set(omitted.map(({ reason }) => reason))).toEqual(new Set(['too_long']));
    }
    expectBoundedMemory();
  });

  it('contain 180 servers of 50 KiB, even while others do not read their responses', async () => {
    const packages = [
      {
        registryType: 'npm',
        identifier: 'long',
        transport: { type: 'stdio' },
        packageArguments: [{ type: 'positional', value: 'x'.repeat(50_000) }],
      },
    ];
    await publish(aServer('io.evil/long', '1.0.0', { packages }));
    await addCopies({ database }, 'io.evil/long', LONG - 1);
    const slow: Socket[] = [];
    await Promise.all(Array.from({ length: SLOW }, (_, count) => begin(slow, CLIENTS[count % 4])));
    for (const client of ['cursor', 'vscode']) {
      const { status, headers, json } = await call(`${origin}${CONFIG}${client}`, { from: '127.0.0.2' });
      expect({ status, omitted: headers['x-omitted-count'] }).toEqual({ status: 200, omitted: `${LARGE}` });
      expect(serversOf(json)).toHaveLength(LONG + 1);
    }
    expectBoundedMemory();
    for (const socket of slow) socket.destroy();
    expect((await call(`${origin}/registry`)).status).toBe(200);
  });

  it('are streamed to 32 slow readers of one caller, and to another caller at the same time', async () => {
    const readers: Socket[] = [];
    // A slow machine also refuses requests that wait for 10 s: they are sent again.
    for (let streamed = 0; streamed < READERS;) {
      const statuses = await Promise.all(Array.from({ length: READERS - streamed }, () => begin(readers)));
      streamed += statuses.filter((status) => status === '200').length;
    }
    expect(await begin(readers)).toBe('503 later');
    expect(await begin(readers, 'vscode', '127.0.0.2')).toBe('200');
    expect(await begin(readers)).toBe('503 later');
    expectBoundedMemory();
    for (const socket of readers) socket.destroy();
    await expect.poll(async () => (await call(`${origin}${CONFIG}vscode`)).status).toBe(200);
  });
});
