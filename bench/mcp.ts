import { atMost, type Figure, figure, reportedOnly } from './harness/figure.js';
import { underLoad } from './harness/measured-load.js';
import { say } from './harness/report.js';
import { rounds } from './harness/rounds.js';
import { listPath, type Page, startService, SUPER_ADMIN } from './harness/service.js';
import type { Stage } from './harness/stage.js';

const CONNECTIONS = 30;
const LIMIT = 30;
const PATH = '/registry/main/mcp';
const CALL = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'search_servers', arguments: { limit: LIMIT } },
};

const VERSION = '2026-07-28';
/** The same call in protocol 2026-07-28. */
const MODERN = {
  headers: {
    'mcp-protocol-version': VERSION,
    'mcp-method': CALL.method,
    'mcp-name': CALL.params.name,
  },
  body: {
    ...CALL,
    params: {
      ...CALL.params,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': VERSION,
        'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  },
};

interface Answer {
  readonly result: { readonly structuredContent: { readonly servers: readonly { readonly name: string }[] } };
}

/**
 * Compares a list of 30 through the MCP tool with the same page of the REST API, both cached, for the same
 * caller. They differ in the protocol, the request body, and shorter rows.
 */
export async function measureMcp(stage: Stage, quick: boolean): Promise<Figure[]> {
  const service = await startService(stage, await stage.catalogue(100_000, 200));
  const token = stage.issuer.tokenOf({ sub: 'ada', ...SUPER_ADMIN });
  const path = listPath({ limit: LIMIT, version: 'latest' });
  const { servers } = JSON.parse(await service.get(path, token)) as Page;
  const { result } = JSON.parse(await service.post(PATH, token, CALL)) as Answer;
  const shown = result.structuredContent.servers.map(({ name }) => name).join();
  if (shown !== servers.map(({ server }) => server.name).join())
    throw new Error('The tool lists other entries');
  const load = { connections: CONNECTIONS, seconds: quick ? 2 : 5 };
  const measured = await rounds(quick ? 3 : 7, async (round) => {
    say(`mcp, round ${round}`);
    return {
      rest: await underLoad(service, { ...load, requests: [{ path, token }] }),
      mcp: await underLoad(service, { ...load, requests: [{ path: PATH, token, body: CALL }] }),
      modern: await underLoad(service, { ...load, requests: [{ path: PATH, token, ...MODERN }] }),
    };
  });
  await service.stop();
  const row = 'list of 30 by MCP, same view again';
  const [last] = measured.slice(-1);
  return [
    figure(
      row,
      'CPU per call / CPU of the same REST page',
      measured.map(({ rest, mcp }) => mcp.cpuMs / rest.cpuMs),
      atMost(4),
      last && `${last.mcp.cpuMs.toFixed(2)} ms, REST ${last.rest.cpuMs.toFixed(2)} ms`,
    ),
    figure(
      `${row}, ${VERSION}`,
      'CPU per call / CPU of the same REST page',
      measured.map(({ rest, modern }) => modern.cpuMs / rest.cpuMs),
      atMost(4),
      last && `${last.modern.cpuMs.toFixed(2)} ms, REST ${last.rest.cpuMs.toFixed(2)} ms`,
    ),
    figure(
      row,
      'REST requests/s / MCP requests/s',
      measured.map(({ rest, mcp }) => rest.perSecond / mcp.perSecond),
      reportedOnly,
      last && `${last.mcp.perSecond.toFixed(0)}, REST ${last.rest.perSecond.toFixed(0)} per second`,
    ),
  ];
}
