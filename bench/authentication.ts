import { SEES_ALL } from './data/catalogue.js';
import { atLeast, type Figure, figure } from './harness/figure.js';
import { requestsPerSecond } from './harness/load.js';
import { say } from './harness/report.js';
import { rounds } from './harness/rounds.js';
import { listPath, startService } from './harness/service.js';
import type { Stage } from './harness/stage.js';

const CALLERS = 100;

/**
 * Measures the cost of verifying tokens: compares a cached list from a service in anonymous mode with the same
 * list from a service called by 100 callers with RS256 tokens in rotation.
 */
export async function measureAuthentication(stage: Stage, quick: boolean): Promise<Figure[]> {
  const catalogue = await stage.catalogue(1_000, 20);
  const open = await startService(stage, catalogue, { configuration: { auth: { mode: 'anonymous' } } });
  const guarded = await startService(stage, catalogue);
  const path = listPath({ limit: 1 });
  const requests = Array.from({ length: CALLERS }, (_, caller) => ({
    path,
    token: stage.issuer.tokenOf({
      sub: `caller-${caller}`,
      groups: Array.from({ length: 20 }, (_unused, group) => `group-${group}`),
      ...SEES_ALL,
    }),
  }));
  const load = { connections: 20, seconds: quick ? 3 : 4 };
  const ratios = await rounds(quick ? 3 : 5, async (round) => {
    say(`authentication, round ${round}`);
    const without = await requestsPerSecond({ ...load, url: open.url, requests: [{ path }] });
    return (await requestsPerSecond({ ...load, url: guarded.url, requests })) / without;
  });
  await open.stop();
  await guarded.stop();
  return [
    figure(
      'authentication',
      'requests/s with RS256 tokens / requests/s without tokens',
      ratios,
      atLeast(0.7),
    ),
  ];
}
