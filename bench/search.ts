import { encodeCursor } from '#service/http/lists.js';
import {
  changeRevisions,
  HALF_OF_TEAMS,
  HIDDEN_WORD,
  SEES_ALL,
  SEES_LITTLE,
  VERSIONS_A_NAME,
} from './data/catalogue.js';
import type { Child } from './harness/child.js';
import { atMost, type Figure, figure, reportedOnly } from './harness/figure.js';
import { say } from './harness/report.js';
import { median, percentile, timeOf } from './harness/rounds.js';
import { listPath, startService, SUPER_ADMIN } from './harness/service.js';
import type { Catalogue, Stage } from './harness/stage.js';

const LIMIT = 30;
const CLAIM_SETS = 200;
const CALLERS = {
  'all by role': SUPER_ADMIN,
  'all by claims': SEES_ALL,
  half: { org: 'acme', team: HALF_OF_TEAMS },
  few: SEES_LITTLE,
  nothing: { org: 'nobody' },
};
type Who = keyof typeof CALLERS;
const WHO = Object.keys(CALLERS) as Who[];

/** Search texts by how easy they are to find. */
const TEXTS = {
  'a common word': ['payments', 'staging system'],
  'a word common in what half of them do not see': [HIDDEN_WORD],
  'an absent word': ['xylophone', 'blockchain', 'zzz'],
  'common words, absent one after the other': ['invoices payments', 'tools server'],
  'absent, of one or two letters': ['ж', 'qx', 'hd', 'aa'],
  'one or two letters': ['a', 'in', 'z'],
  'a wildcard of SQL': ['%', '_', '\\', '100%'],
  'not ASCII': ['für die Übergabe', '倉庫', '庫の', '猫'],
  'a long text': ['searches nowhere in particular '.repeat(8), 'x'.repeat(200)],
  'names that come last': ['org.umbrella', 'org.'],
} as const;
type Kind = keyof typeof TEXTS;
const KINDS = Object.keys(TEXTS) as Kind[];
/** A fifth of the time that the Go registry server takes on two cores for 100,000 entries. */
const SEARCH_MS = 54;
/** Search texts of a caller who knows what they want, in any catalog. */
const USUAL = {
  'a rare word': ['connector-zz', 'proxy-1a'],
  'a common word': ['payments', 'invoices'],
  'an absent word': ['xylophone', 'blockchain'],
  'two words': ['invoices payments', 'reads tickets'],
  'one letter': ['e', 'z'],
} as const;
const USUAL_KINDS = Object.keys(USUAL) as (keyof typeof USUAL)[];
/** Names after which the lists start: at the beginning, in the middle, and near the end. */
const POSITIONS = ['', 'io.', 'org.v'];

interface Timed {
  readonly ms: number;
  readonly refused: boolean;
}

export async function measureSearches(stage: Stage, quick: boolean): Promise<Figure[]> {
  return [...(await measureUsual(stage, quick)), ...(await measureAll(stage, quick))];
}

/** Times of searches that have not been made before, without a change and after a change to every source. */
async function measureUsual(stage: Stage, quick: boolean): Promise<Figure[]> {
  const entries = quick ? 20_000 : 100_000;
  const catalogue = await stage.catalogue(VERSIONS_A_NAME * entries, CLAIM_SETS);
  const service = await startService(stage, catalogue);
  const tokens = WHO.map((who) => stage.issuer.tokenOf(CALLERS[who]));
  const timed = new Map<string, number[]>();
  for (let round = 0; round <= (quick ? 5 : 10); round += 1) {
    say(`searches of ${entries} entries, round ${round}`);
    // No earlier page had this size.
    const limit = LIMIT - 5 + round;
    for (const token of tokens)
      for (const kind of [...USUAL_KINDS, 'list'] as const)
        for (const text of kind === 'list' ? [undefined] : USUAL[kind]) {
          const path = listPath({ limit, ...(text === undefined ? {} : { search: text }) });
          const unchanged = await timeOf(() => service.get(path, token));
          const changed = await ask(catalogue, service, token, '', text);
          if (round === 0) continue;
          for (const [key, ms] of [
            [kind, unchanged],
            [`${kind}, changed`, changed.ms],
          ] as const)
            timed.set(key, [...(timed.get(key) ?? []), ms]);
        }
  }
  await service.stop();
  const of = (key: string) => timed.get(key) ?? [];
  return USUAL_KINDS.flatMap((kind) => {
    const row = `search in ${entries} entries, ${kind}`;
    const [now, list] = [of(`${kind}, changed`), of('list, changed')];
    return [
      figure(row, 'p50, ms', [median(of(kind))], atMost(SEARCH_MS), `p50, p99 in ms: ${inMs(of(kind))}`),
      figure(
        row,
        'p50 after a change / p50 of a list',
        [median(now) / median(list)],
        reportedOnly,
        `p50, p99 in ms: ${inMs(now)}, list ${inMs(list)}`,
      ),
    ];
  });
}

/** Compares searches that miss the cache with plain lists by the same callers from the same positions. */
async function measureAll(stage: Stage, quick: boolean): Promise<Figure[]> {
  const versions = quick ? 100_000 : 1_000_000;
  const catalogue = await stage.catalogue(versions, CLAIM_SETS);
  const service = await startService(stage, catalogue);
  const repeats = quick ? 2 : 8;
  const tokens = Object.fromEntries(WHO.map((who) => [who, stage.issuer.tokenOf(CALLERS[who])]));
  const timed = new Map<string, Timed[]>();
  const keep = (key: string, one: Timed) => timed.set(key, [...(timed.get(key) ?? []), one]);
  for (let round = 0; round <= repeats; round += 1) {
    say(`searches at ${versions} versions, round ${round}`);
    for (const who of WHO)
      for (const position of POSITIONS) {
        const measured = async (kind: string, search?: string) => {
          const one = await ask(catalogue, service, tokens[who] ?? '', position, search);
          if (round > 0) for (const key of [kind, `${kind}, ${who}`]) keep(key, one);
        };
        for (const kind of KINDS)
          for (const text of TEXTS[kind]) {
            await measured(kind, text);
            await measured('list');
          }
      }
  }
  await service.stop();
  const of = (key: string) => (timed.get(key) ?? []).map(({ ms }) => ms);
  const list = percentile(of('list'), 0.99);
  return KINDS.flatMap((kind) => {
    const refused = (timed.get(kind) ?? []).filter((one) => one.refused).length;
    const byWho = WHO.map((who) => `${who} ${inMs(of(`${kind}, ${who}`))}`).join(', ');
    const note = `p50, p99 in ms: ${inMs(of(kind))} (${byWho}), list ${inMs(of('list'))}; ${refused} refused`;
    const row = `search at ${versions} versions, ${kind}`;
    return [
      figure(row, 'p99 / p99 of a list', [percentile(of(kind), 0.99) / list], reportedOnly, note),
      figure(
        row,
        'p99, ms',
        [percentile(of(kind), 0.99)],
        versions === 1_000_000 ? atMost(300) : reportedOnly,
      ),
    ];
  });
}

const inMs = (times: number[]) => `${median(times).toFixed(1)}, ${percentile(times, 0.99).toFixed(1)}`;

async function ask(
  { client }: Catalogue,
  service: Child,
  token: string,
  position: string,
  search?: string,
): Promise<Timed> {
  const filter = search === undefined ? {} : { search: search.toLowerCase() };
  const after = { name: position, key: '0' };
  const cursor = encodeCursor('servers', { filter, limit: LIMIT, after });
  await changeRevisions(client);
  let refused = false;
  const ms = await timeOf(() =>
    service.get(listPath({ cursor }), token).catch((error: unknown) => {
      if (!String(error).includes('search_too_broad')) throw error;
      refused = true;
    }),
  );
  return { ms, refused };
}
