import { setTimeout as sleep } from 'node:timers/promises';
import { changeRevisions, HALF_OF_TEAMS, SEES_ALL, SEES_LITTLE } from './data/catalogue.js';
import { atMost, type Figure, figure, reportedOnly } from './harness/figure.js';
import { say } from './harness/report.js';
import { median, percentile, timeOf } from './harness/rounds.js';
import { listPath, startService, SUPER_ADMIN } from './harness/service.js';
import type { Child } from './harness/child.js';
import type { Catalogue, Stage } from './harness/stage.js';

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
  'two dense words': ['q=and+server'],
  'one letter': ['q=e', 'q=z'],
  filters: ['tag=invoices', 'publisher=io.acme-1', 'transport=stdio', 'q=reads&tag=server'],
} as const;
type Kind = keyof typeof QUERIES;
const KINDS = Object.keys(QUERIES) as Kind[];

const LONGEST_LOAD_MS = 300_000;

/**
 * Compares ranked searches that miss the cache with lists that do, by the same callers, after every source has changed.
 */
export async function measureRankedSearches(stage: Stage, quick: boolean): Promise<Figure[]> {
  if (quick) return measure(stage, await stage.catalogue(100_000, CLAIM_SETS), 20_000, 2, 60);
  return [
    ...(await measure(stage, await stage.catalogue(52_000, CLAIM_SETS, 1), 52_000, 5, 60)),
    ...(await measure(stage, await stage.catalogue(500_000, CLAIM_SETS), 100_000, 5, 120)),
  ];
}

async function measure(
  stage: Stage,
  catalogue: Catalogue,
  entries: number,
  rounds: number,
  mostMs: number,
): Promise<Figure[]> {
  const service = await startService(stage, catalogue);
  const tokens = Object.fromEntries(WHO.map((who) => [who, stage.issuer.tokenOf(CALLERS[who])]));
  const loadMs = await timeOf(() => untilLoaded(service, tokens['all by role'] ?? ''));
  const timed = new Map<string, number[]>();
  let refused = 0;
  for (let round = 0; round <= rounds; round += 1) {
    say(`ranked searches of ${entries} entries, round ${round}`);
    for (const who of WHO) {
      const timeAll = async (keys: readonly string[], path: string) => {
        await changeRevisions(catalogue.client);
        const ms = await timeOf(() =>
          service.get(path, tokens[who] ?? '').catch((error: unknown) => {
            if (!String(error).includes('search_too_broad')) throw error;
            if (round > 0) refused += 1;
          }),
        );
        if (round > 0) for (const key of keys) timed.set(key, [...(timed.get(key) ?? []), ms]);
      };
      for (const kind of KINDS)
        for (const query of QUERIES[kind]) {
          await timeAll(['all', kind, `${kind}, ${who}`], `/registry/main/v0.1/x/search?${query}`);
          await timeAll(['list'], listPath());
        }
    }
  }
  await service.stop();
  const of = (key: string) => timed.get(key) ?? [];
  const row = `ranked search in ${entries} entries`;
  const figures = KINDS.map((kind) => {
    const byWho = WHO.map((who) => `${who} ${inMs(of(`${kind}, ${who}`))}`).join(', ');
    const note = `p50, p95 in ms: ${inMs(of(kind))} (${byWho}), list ${inMs(of('list'))}`;
    const ratio = percentile(of(kind), 0.95) / percentile(of('list'), 0.95);
    return figure(`${row}, ${kind}`, 'p95 / p95 of a list', [ratio], reportedOnly, note);
  });
  const p95 = percentile(of('all'), 0.95);
  return [
    ...figures,
    figure(row, 'p95, ms', [p95], atMost(mostMs), `p50 ${median(of('all')).toFixed(1)} ms`),
    figure(row, 'refused', [refused], atMost(0)),
    figure(row, 's until the first answer', [loadMs / 1_000], reportedOnly),
  ];
}

/** Searches until the index is in memory: a search that waits for it longer than two seconds is refused. */
async function untilLoaded(service: Child, token: string): Promise<void> {
  const end = performance.now() + LONGEST_LOAD_MS;
  for (;;)
    try {
      await service.get('/registry/main/v0.1/x/search', token);
      return;
    } catch (error) {
      if (!String(error).includes('search_too_broad') || performance.now() > end) throw error;
      await sleep(200);
    }
}

const inMs = (times: number[]) => `${median(times).toFixed(1)}, ${percentile(times, 0.95).toFixed(1)}`;
