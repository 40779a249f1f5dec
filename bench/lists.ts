import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SEES_ALL } from './data/catalogue.js';
import { Child, freePort } from './harness/child.js';
import { atLeast, type Figure, figure, reportedOnly } from './harness/figure.js';
import { underLoad } from './harness/measured-load.js';
import { say } from './harness/report.js';
import { rounds } from './harness/rounds.js';
import { listPath, startService, SUPER_ADMIN } from './harness/service.js';
import type { Stage } from './harness/stage.js';

const CALLERS = 100;
const CONNECTIONS = 30;
const VIEWS = [
  SUPER_ADMIN,
  SEES_ALL,
  { org: 'acme', team: Array.from({ length: 40 }, (_, team) => `team-${team}`) },
  { org: 'acme', team: Array.from({ length: 40 }, (_, team) => `team-${100 + team}`) },
];
const BARE_ROUTE = fileURLToPath(new URL('./harness/bare-route.js', import.meta.url));

/**
 * Compares cached pages, for 100 callers with RS256 tokens and four views, with a bare Nest + Express route that
 * sends the same bytes, both plain and stripped of everything optional. Each runs in a separate process.
 */
export async function measureLists(stage: Stage, quick: boolean): Promise<Figure[]> {
  const catalogue = await stage.catalogue(100_000, 200);
  const service = await startService(stage, catalogue);
  const tokens = Array.from({ length: CALLERS }, (_, caller) =>
    stage.issuer.tokenOf({
      sub: `caller-${caller}`,
      groups: Array.from({ length: 20 }, (_unused, group) => `group-${group}`),
      ...VIEWS[caller % VIEWS.length],
    }),
  );
  const figures: Figure[] = [];
  for (const limit of [30, 100]) {
    const path = listPath({ limit });
    const pages = await Promise.all(
      VIEWS.map(async (_, view) => {
        const file = join(stage.folder, `page-${limit}-${view}.json`);
        await writeFile(file, await service.get(path, tokens[view] ?? ''));
        return file;
      }),
    );
    const plain = await bareRoute('plain', pages);
    const stripped = await bareRoute('stripped', pages);
    for (const bare of [plain, stripped])
      for (const view of VIEWS.keys())
        if ((await bare.get(`/${view}`, '')) !== (await service.get(path, tokens[view] ?? '')))
          throw new Error('The bare route sends different bytes');
    const load = { connections: CONNECTIONS, seconds: quick ? 2 : 5 };
    const measured = await rounds(quick ? 3 : 7, async (round) => {
      say(`lists of ${limit}, round ${round}`);
      const bytes = { ...load, requests: VIEWS.map((_, view) => ({ path: `/${view}` })) };
      return {
        plain: await underLoad(plain, bytes),
        stripped: await underLoad(stripped, bytes),
        own: await underLoad(service, { ...load, requests: tokens.map((token) => ({ path, token })) }),
      };
    });
    await plain.stop();
    await stripped.stop();
    for (const kind of ['plain', 'stripped'] as const) {
      const [last] = measured.slice(-1);
      const row = `list of ${limit}, same view again`;
      figures.push(
        figure(
          row,
          kind === 'plain'
            ? 'requests/s / bare route with the same bytes'
            : 'requests/s / bare route without ETag and text',
          measured.map((round) => round.own.perSecond / round[kind].perSecond),
          kind === 'plain' && limit === 30 ? atLeast(1) : reportedOnly,
          last && `${last.own.perSecond.toFixed(0)} of ${last[kind].perSecond.toFixed(0)} per second`,
        ),
        figure(
          row,
          `CPU per bare request (${kind}) / CPU per request of the service`,
          measured.map((round) => round[kind].cpuMs / round.own.cpuMs),
          reportedOnly,
          last && `${last.own.cpuMs.toFixed(2)} ms, bare ${last[kind].cpuMs.toFixed(2)} ms`,
        ),
      );
    }
  }
  await service.stop();
  return figures;
}

async function bareRoute(kind: 'plain' | 'stripped', pages: readonly string[]): Promise<Child> {
  const port = await freePort();
  return Child.start([BARE_ROUTE, String(port), kind, ...pages], { port, readiness: { port, path: '/0' } });
}
