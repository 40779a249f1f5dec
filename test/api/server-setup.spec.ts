import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { MAX_OPTIONS } from '../../src/client-config/client-setup.js';
import { aServer, type Document } from '../support/documents.js';
import { expectRefused } from '../support/matchers.js';
import { callTool, toolResult } from '../support/mcp.js';
import { aService } from '../support/service.js';

const ACME = { sub: 'ada', org: 'acme' };
const PLATFORM = { sub: 'pia', org: 'acme', team: 'platform' };

const npm = { registryType: 'npm', identifier: '@acme/tool', version: '1.2.3', transport: { type: 'stdio' } };
const bundle = {
  registryType: 'mcpb',
  identifier: 'https://github.com/acme/tool/releases/download/v1/tool.mcpb',
  fileSha256: 'a'.repeat(64),
  transport: { type: 'stdio' },
};
const remote = { type: 'streamable-http', url: 'https://tool.acme.example/mcp' };

const service = aService({ mode: 'full' })
  .source('open', {
    claims: { org: 'acme' },
    servers: [
      aServer('io.acme/tool', '1.0.0', { packages: [bundle, npm], remotes: [remote] }),
      aServer('io.acme/long', '1.0.0', { packages: [npm], _meta: { x: { text: 'x'.repeat(65 * 1_024) } } }),
      aServer('io.acme/many', '1.0.0', { packages: Array.from({ length: 12 }, () => npm) }),
    ],
  })
  .source('platform', {
    claims: { org: 'acme', team: 'platform' },
    servers: [aServer('io.acme/deploy', '1.0.0', { remotes: [remote] })],
  })
  .registry('main', { sources: ['open', 'platform'], claims: { org: 'acme' } })
  .runs();

interface Setup {
  name: string;
  version: string;
  runsInToolHive: boolean;
  options: {
    kind: string;
    index: number;
    clients: { client: string; configuration?: Document; omitted?: { reason: string } }[];
  }[];
}

const pathOf = (name: string, version = 'latest', registry = 'main') =>
  `/registry/${registry}/v0.1/x/setup/${encodeURIComponent(name)}/versions/${version}`;

describe('GET /registry/{registry}/x/setup/{name}/versions/{version}', () => {
  const setup = async (name: string) => {
    const reply = await service.as(ACME).get(pathOf(name));
    expect(reply.status).toBe(200);
    return reply.json as Setup;
  };

  it('returns the configuration of each remote and package for every client', async () => {
    const { name, version, options, runsInToolHive } = await setup('io.acme/tool');
    expect({ name, version, runsInToolHive }).toEqual({
      name: 'io.acme/tool',
      version: '1.0.0',
      runsInToolHive: true,
    });
    expect((await setup('io.acme/many')).runsInToolHive).toBe(false);
    expect(options.map(({ kind, index }) => [kind, index])).toEqual([
      ['remote', 0],
      ['package', 0],
      ['package', 1],
    ]);
    const cursor = options.map(({ clients }) => clients.find(({ client }) => client === 'cursor'));
    expect(cursor).toEqual([
      { client: 'cursor', configuration: { mcpServers: { 'io.acme/tool': { url: remote.url } } } },
      { client: 'cursor', omitted: expect.objectContaining({ reason: 'unsupported_registry_type' }) },
      {
        client: 'cursor',
        configuration: {
          mcpServers: {
            'io.acme/tool': { type: 'stdio', command: 'npx', args: ['-y', '@acme/tool@1.2.3'] },
          },
        },
      },
    ]);
  });

  it('is compressed', async () => {
    const path = pathOf('io.acme/tool');
    const whole = await service.as(ACME).get(path, { 'Accept-Encoding': 'identity' });
    const reply = await service.as(ACME).get(path, { 'Accept-Encoding': 'gzip' });
    expect(whole.headers['content-encoding']).toBeUndefined();
    expect(reply.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(reply.bytes).toString()).toBe(whole.text);
  });

  it('begins with the option that `how_to_connect` chooses', async () => {
    const { options } = await setup('io.acme/tool');
    const chosen = toolResult(
      await callTool(service.as(ACME), 'main', 'how_to_connect', { name: 'io.acme/tool' }),
    ) as { clients: unknown };
    expect(options[0]?.clients).toEqual(chosen.clients);
  });

  it('omits entries over 64 KiB', async () => {
    const { options } = await setup('io.acme/long');
    expect(options[0]?.clients.map(({ omitted }) => omitted?.reason)).toEqual(Array(5).fill('too_long'));
  });

  it(`has at most ${MAX_OPTIONS} options`, async () => {
    expect((await setup('io.acme/many')).options).toHaveLength(MAX_OPTIONS);
  });

  it('is 404 for a hidden server exactly as for a missing one', async () => {
    expect((await service.as(PLATFORM).get(pathOf('io.acme/deploy'))).status).toBe(200);
    const replies = [];
    for (const name of ['io.acme/deploy', 'io.acme/none']) {
      const reply = await service.as(ACME).get(pathOf(name));
      expectRefused(reply, 404, 'entry_not_found');
      replies.push({ ...(reply.json as object), requestId: '' });
    }
    expect(replies[0]).toEqual(replies[1]);
    expectRefused(await service.as(ACME).get(pathOf('io.acme/tool', '9.9.9')), 404, 'version_not_found');
  });

  it('is 403 for a caller whom the gate refuses', async () => {
    expectRefused(
      await service.as({ sub: 'eve', org: 'other' }).get(pathOf('io.acme/tool')),
      403,
      'registry_forbidden',
    );
  });
});
