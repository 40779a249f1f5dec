import { availableParallelism } from 'node:os';
import { type Figure, figure, reportedOnly } from './harness/figure.js';
import { requestsPerSecond } from './harness/load.js';
import { say } from './harness/report.js';
import { rounds } from './harness/rounds.js';
import { listPath, startService, SUPER_ADMIN } from './harness/service.js';
import type { Stage } from './harness/stage.js';

const CONNECTIONS = 32;
const COUNTS = [2, 4];

/** Compares cached lists per second of several workers with a server of one process. */
export async function measureWorkers(stage: Stage, quick: boolean): Promise<Figure[]> {
  const catalogue = await stage.catalogue(100_000, 200);
  const requests = [{ path: listPath({ limit: 30 }), token: stage.issuer.tokenOf(SUPER_ADMIN) }];
  const load = { requests, connections: CONNECTIONS, seconds: quick ? 2 : 5 };
  const counts = COUNTS.filter((count) => count <= availableParallelism());
  const perSecond = async (workers: number) => {
    const service = await startService(stage, catalogue, { arguments: ['--workers', String(workers)] });
    // The first requests fill the workers' caches.
    await requestsPerSecond({ ...load, url: service.url, seconds: 1 });
    const measured = await requestsPerSecond({ ...load, url: service.url });
    await service.stop();
    return measured;
  };
  const measured = await rounds(quick ? 3 : 5, async (round) => {
    say(`workers, round ${round}`);
    const all = new Map<number, number>();
    for (const workers of [1, ...counts]) all.set(workers, await perSecond(workers));
    return all;
  });
  return counts.map((count) =>
    figure(
      `${count} workers on ${availableParallelism()} CPUs, shared with PostgreSQL and the load generator`,
      'requests/s of a cached list / one process',
      measured.map((round) => (round.get(count) ?? NaN) / (round.get(1) ?? NaN)),
      reportedOnly,
      `${measured.at(-1)?.get(count)?.toFixed(0)} of ${measured.at(-1)?.get(1)?.toFixed(0)} per second`,
    ),
  );
}
