import { atMost, type Figure, figure, toldOnly } from './harness/figure.js';
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

interface Answer {
  readonly result: { readonly structuredContent: { readonly servers: readonly { readonly name: string }[] } };
}

/**
 * A list of 30 by the tool of the MCP endpoint, against the same page of the REST API: the same caller, who asked for both before.
 * What differs is the protocol, a body that is read, and rows that are written shorter.
 */
export async function measureMcp(stage: Stage, quick: boolean): Promise<Figure[]> {
  const service = await startService(stage, await stage.catalogue(100_000, 200));
  const token = stage.issuer.tokenOf({ sub: 'ada', ...SUPER_ADMIN });
  const path = listPath({ limit: LIMIT, version: 'latest' });
  const { servers } = JSON.parse(await service.get(path, token)) as Page;
  const { result } = JSON.parse(await service.post(PATH, token, CALL)) as Answer;
  const told = result.structuredContent.servers.map(({ name }) => name).join();
  if (told !== servers.map(({ server }) => server.name).join()) throw new Error('The tool lists others');
  const load = { connections: CONNECTIONS, seconds: quick ? 2 : 5 };
  const measured = await rounds(quick ? 3 : 7, async (round) => {
    say(`mcp, round ${round}`);
    return {
      rest: await underLoad(service, { ...load, requests: [{ path, token }] }),
      mcp: await underLoad(service, { ...load, requests: [{ path: PATH, token, body: CALL }] }),
    };
  });
  await service.stop();
  const row = 'list of 30 by MCP, same view again';
  const [last] = measured.slice(-1);
  return [
    figure(
      row,
      'CPU of a call over that of the same page of the REST API',
      measured.map(({ rest, mcp }) => mcp.cpuMs / rest.cpuMs),
      atMost(2),
      last && `${last.mcp.cpuMs.toFixed(2)} ms, REST ${last.rest.cpuMs.toFixed(2)} ms`,
    ),
    figure(
      row,
      'requests/s of the REST API over those of the endpoint',
      measured.map(({ rest, mcp }) => rest.perSecond / mcp.perSecond),
      toldOnly,
      last && `${last.mcp.perSecond.toFixed(0)}, REST ${last.rest.perSecond.toFixed(0)} per second`,
    ),
  ];
}
