import { changeRevisions, HALF_OF_TEAMS, SEES_ALL, SEES_LITTLE } from './data/catalogue.js';
import { atMost, type Figure, figure, reportedOnly } from './harness/figure.js';
import { say } from './harness/report.js';
import { median, percentile, timeOf } from './harness/rounds.js';
import { listPath, startService, SUPER_ADMIN } from './harness/service.js';
import type { Stage } from './harness/stage.js';

const CLAIM_SETS = 200;
const CALLERS = {
  'all by role': SUPER_ADMIN,
  'all by claims': SEES_ALL,
  half: { org: 'acme', team: HALF_OF_TEAMS },
  few: SEES_LITTLE,
};
const WHO = Object.keys(CALLERS) as (keyof typeof CALLERS)[];
const QUERIES = {
  everything: ['', 'sort=updated', 'sort=name', 'type=server'],
  'a common word': ['q=invoices', 'q=payments'],
  'a rare word': ['q=connector-zz', 'q=proxy-1a'],
  'an absent word': ['q=xylophone'],
  'two words': ['q=reads+tickets', 'q=invoices+payments'],
  'one letter': ['q=e', 'q=z'],
  filters: ['tag=invoices', 'publisher=io.acme-1', 'transport=stdio', 'q=reads&tag=server'],
} as const;
type Kind = keyof typeof QUERIES;
const KINDS = Object.keys(QUERIES) as Kind[];

/** Compares ranked searches that miss the cache with lists that do, by the same callers. */
export async function measureRankedSearches(stage: Stage, quick: boolean): Promise<Figure[]> {
  const entries = quick ? 20_000 : 100_000;
  const catalogue = await stage.catalogue(5 * entries, CLAIM_SETS);
  const service = await startService(stage, catalogue);
  const timed = new Map<string, number[]>();
  let refused = 0;
  for (let round = 0; round <= (quick ? 2 : 5); round += 1) {
    say(`ranked searches of ${entries} entries, round ${round}`);
    for (const who of WHO) {
      const token = stage.issuer.tokenOf(CALLERS[who]);
      const measure = async (keys: readonly string[], path: string) => {
        await changeRevisions(catalogue.client);
        const ms = await timeOf(() =>
          service.get(path, token).catch((error: unknown) => {
            if (!String(error).includes('search_too_broad')) throw error;
            if (round > 0) refused += 1;
          }),
        );
        if (round > 0) for (const key of keys) timed.set(key, [...(timed.get(key) ?? []), ms]);
      };
      for (const kind of KINDS)
        for (const query of QUERIES[kind]) {
          await measure(['all', kind, `${kind}, ${who}`], `/registry/main/v0.1/x/search?${query}`);
          await measure(['list'], listPath());
        }
    }
  }
  await service.stop();
  const of = (key: string) => timed.get(key) ?? [];
  const figures = KINDS.map((kind) => {
    const byWho = WHO.map((who) => `${who} ${inMs(of(`${kind}, ${who}`))}`).join(', ');
    const note = `p50, p95 in ms: ${inMs(of(kind))} (${byWho}), list ${inMs(of('list'))}`;
    const ratio = percentile(of(kind), 0.95) / percentile(of('list'), 0.95);
    return figure(
      `ranked search in ${entries} entries, ${kind}`,
      'p95 / p95 of a list',
      [ratio],
      reportedOnly,
      note,
    );
  });
  const p95 = percentile(of('all'), 0.95);
  return [
    ...figures,
    figure(`ranked search in ${entries} entries`, 'p95, ms', [p95], atMost(50), `${refused} refused`),
  ];
}

const inMs = (times: number[]) => `${median(times).toFixed(1)}, ${percentile(times, 0.95).toFixed(1)}`;
