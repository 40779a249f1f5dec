import { changeRevisions, SEES_ALL, SEES_LITTLE } from './data/catalogue.js';
import type { Child } from './harness/child.js';
import { atMost, type Figure, figure } from './harness/figure.js';
import { say } from './harness/report.js';
import { median, rounds, timeOf } from './harness/rounds.js';
import { listPath, pageOf, startService, SUPER_ADMIN } from './harness/service.js';
import type { Stage } from './harness/stage.js';

const LIMIT = 30;
const REQUESTS = 10;
const CALLERS = { few: SEES_LITTLE, 'all by role': SUPER_ADMIN, 'all by claims': SEES_ALL };
type Who = keyof typeof CALLERS;
const WHO = Object.keys(CALLERS) as Who[];
const CASES = ['same view again', 'second page', 'first time'] as const;
/** Generous limit on the inverse ratio. Without it, slow pages for callers who see everything would go unnoticed. */
const REVERSE = 10;

/**
 * Measures the cost of a small view: pages of 30 for a caller who sees 0.1 % of the entries, scattered over the
 * list, and for two callers who see everything, by role and by claims.
 */
export async function measureVisibility(stage: Stage, quick: boolean): Promise<Figure[]> {
  const worlds = quick
    ? [{ versions: 100_000, claimSets: 2_000 }]
    : [
        { versions: 100_000, claimSets: 2_000 },
        ...[20, 200, 2_000].map((claimSets) => ({ versions: 1_000_000, claimSets })),
      ];
  const figures: Figure[] = [];
  for (const { versions, claimSets } of worlds) {
    const catalogue = await stage.catalogue(versions, claimSets);
    const service = await startService(stage, catalogue);
    const tokens = Object.fromEntries(WHO.map((who) => [who, stage.issuer.tokenOf(CALLERS[who])]));
    const cursors = await secondPages(service, tokens, versions);
    for (const name of CASES) {
      say(`visibility at ${versions} versions, ${claimSets} claim sets, ${name}`);
      const measured = await rounds(quick ? 3 : 11, async () => {
        const times = WHO.map((): number[] => []);
        for (let request = 0; request < REQUESTS; request += 1)
          for (const [index, who] of WHO.entries()) {
            if (name === 'first time') await changeRevisions(catalogue.client);
            const path = listPath({
              limit: LIMIT,
              ...(name === 'second page' ? { cursor: cursors[who] ?? '' } : {}),
            });
            times[index]?.push(await timeOf(() => service.get(path, tokens[who] ?? '')));
          }
        return times.map(median);
      });
      const row = `0.1 % of ${versions} versions, ${claimSets} claim sets, ${name}`;
      const note = WHO.map(
        (who, index) => `${who} ${median(measured.map((round) => round[index] ?? Number.NaN)).toFixed(1)} ms`,
      ).join(', ');
      figures.push(
        figure(
          row,
          'p50 / p50 of a caller who sees everything',
          measured.map(smallOverFull),
          atMost(2),
          note,
        ),
        figure(row, 'the inverse', measured.map(fullOverSmall), atMost(REVERSE)),
      );
    }
    await service.stop();
  }
  return figures;
}

const smallOverFull = ([few = Number.NaN, ...all]: number[]) => few / Math.min(...all);
const fullOverSmall = ([few = Number.NaN, ...all]: number[]) => Math.max(...all) / few;

// Also checks the premise: one caller sees about the expected number of versions, the others see many more.
async function secondPages(
  service: Child,
  tokens: Readonly<Record<string, string>>,
  versions: number,
): Promise<Record<string, string>> {
  const cursors: Record<string, string> = {};
  for (const who of WHO) {
    let shown = 0;
    for (let cursor: string | undefined = ''; cursor !== undefined && shown < versions / 200;) {
      const { metadata } = await pageOf(service, tokens[who] ?? '', { limit: 100, cursor });
      shown += metadata.count;
      cursor = metadata.nextCursor;
    }
    const isLittle = shown > versions / 4_000 && shown < versions / 200;
    if (isLittle !== (who === 'few')) throw new Error(`${who} sees ${shown} of ${versions} versions`);
    const first = await pageOf(service, tokens[who] ?? '', { limit: LIMIT });
    cursors[who] = first.metadata.nextCursor ?? '';
  }
  return cursors;
}
