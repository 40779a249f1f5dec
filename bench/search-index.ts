import { type EntrySearch, wordsOf } from '#service/catalog/entry-search.js';
import type { IndexedSummary } from '#service/catalog/search-index/entry-columns.js';
import { EntryIndex } from '#service/catalog/search-index/entry-index.js';
import { searchIndex } from '#service/catalog/search-index/index-search.js';
import { summaryOf } from '#service/entries/entry-summary.js';
import { nameOf, serverDocument } from './data/documents.js';
import { atMost, type Figure, figure, reportedOnly } from './harness/figure.js';
import { say } from './harness/report.js';
import { median, percentile } from './harness/rounds.js';

const SEED = 1;
const SOURCES = 5;
const CLAIM_SETS = 200;
/** Half of the entries share their name with another source, as in the catalog of the other benchmarks. */
const NAMES = [0, 1, 2, 3, 4, 5, 5, 6, 6, 6];
const DISTINCT = 7;
const QUERIES: readonly (EntrySearch['filter'] & { readonly sort?: EntrySearch['sort'] })[] = [
  {},
  { sort: 'updated' },
  { type: 'server' },
  { q: 'invoices' },
  { q: 'connector-zz' },
  { q: 'xylophone' },
  { q: 'reads tickets' },
  { q: 'e' },
  { q: 'z' },
  { publisher: 'io.acme-1' },
  { transport: 'stdio' },
];
const VIEWS = { all: 1, half: 2, few: CLAIM_SETS };

/**
 * Processor time of a ranked search in its index in memory, without the statements beside it, and its size. A database
 * of a million entries would take an hour to fill.
 */
export async function measureSearchIndex(quick: boolean): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [entries, mostMs] of quick
    ? ([[20_000, 50]] as const)
    : ([
        [100_000, 50],
        [1_000_000, 150],
      ] as const)) {
    say(`index of ${entries} entries`);
    const index = new EntryIndex();
    const filled = processorMs();
    const summaries = Array.from({ length: entries }, (_, number) => aSummary(number));
    await index.apply(summaries.map((summary) => ({ ...summary, summary })));
    await index.compact();
    const fillMs = processorMs() - filled;
    const times: number[] = [];
    for (let round = 0; round <= 5; round += 1)
      for (const every of Object.values(VIEWS))
        for (const { sort = 'relevance', ...filter } of QUERIES) {
          const began = processorMs();
          const request = { filter, sort, limit: 30, after: null };
          await searchIndex(
            index,
            index.viewOf(partitionsOf(every)),
            request,
            wordsOf(filter.q),
            () => undefined,
          );
          if (round > 0) times.push(processorMs() - began);
        }
    const row = `index of ${entries} entries in memory`;
    const note = `p50 ${median(times).toFixed(1)} ms; filled in ${(fillMs / 1_000).toFixed(1)} s, with making the documents`;
    figures.push(
      figure(row, 'p95 of processor time, ms', [percentile(times, 0.95)], atMost(mostMs), note),
      figure(row, 'bytes for each entry', [index.byteLength / entries], reportedOnly),
    );
  }
  return figures;
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function aSummary(number: number): IndexedSummary {
  const ten = Math.floor(number / NAMES.length);
  const name = nameOf(ten * DISTINCT + (NAMES[number % NAMES.length] ?? 0), SEED);
  const document = JSON.stringify(serverDocument(name, '2.0.0', number + 1, SEED));
  const version = { type: 'server', version: '2.0.0', status: 'active', name, document } as const;
  const { isInstallable, updatedAt, ...summary } = summaryOf({
    ...version,
    entryId: String(number + 1),
    changedAt: new Date(number),
  });
  const sourceId = 1 + ((number + ten) % SOURCES);
  return {
    ...summary,
    type: 'server',
    name,
    status: 'active',
    sourceId,
    partitionId: sourceId * CLAIM_SETS + ((number * 2_654_435_761) % CLAIM_SETS),
    installable: isInstallable,
    otherTexts: [],
    updated: Number(updatedAt),
  };
}

/** One in `every` of the partitions. */
function partitionsOf(every: number): [id: number, rank: number][] {
  const numbers = Array.from({ length: SOURCES * CLAIM_SETS }, (_, number) => number);
  return numbers
    .filter((number) => number % every === 0)
    .map((number) => [CLAIM_SETS + number, 1 + Math.floor(number / CLAIM_SETS)]);
}
