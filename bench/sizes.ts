import { encodeCursor } from '#service/http/lists.js';
import { changeRevisions, SEES_ALL } from './data/catalogue.js';
import type { Child } from './harness/child.js';
import { atMost, type Figure, figure } from './harness/figure.js';
import { say } from './harness/report.js';
import { median, rounds, timeOf } from './harness/rounds.js';
import { listPath, startService } from './harness/service.js';
import type { Catalogue, Stage } from './harness/stage.js';

const LIMIT = 30;
const REQUESTS = 20;

const CASES = {
  'same view again': { isNew: false, parameters: {} },
  'first time': { isNew: true, parameters: {} },
  'first time, version=latest': { isNew: true, parameters: { version: 'latest' } },
  'first time, in the middle of the list': { isNew: true, parameters: 'cursor' },
} as const;
type Case = keyof typeof CASES;

interface Sized {
  readonly catalogue: Catalogue;
  readonly service: Child;
  readonly middle: string;
}

/** Compares the median time of a page of 30 in larger catalogs with a catalog of 1,000 versions. */
export async function measureSizes(stage: Stage, quick: boolean): Promise<Figure[]> {
  const sizes = [1_000, 10_000, 100_000, ...(quick ? [] : [1_000_000])];
  const sized: Sized[] = [];
  for (const versions of sizes) {
    const catalogue = await stage.catalogue(versions, 20);
    const service = await startService(stage, catalogue);
    sized.push({ catalogue, service, middle: await middleOf(catalogue) });
  }
  const token = stage.issuer.tokenOf(SEES_ALL);
  const figures: Figure[] = [];
  for (const name of Object.keys(CASES) as Case[]) {
    say(`sizes, ${name}`);
    const measured = await rounds(quick ? 3 : 11, async () => {
      const times = sized.map((): number[] => []);
      for (let request = 0; request < REQUESTS; request += 1)
        for (const [index, one] of sized.entries()) times[index]?.push(await ask(one, name, token));
      return times.map(median);
    });
    for (const [index, versions] of sizes.entries()) {
      if (index === 0) continue;
      const ms = (at: number) => median(measured.map((round) => round[at] ?? Number.NaN)).toFixed(2);
      figures.push(
        figure(
          `list at ${versions} versions, ${name}`,
          'p50 / p50 at 1000 versions',
          measured.map((round) => (round[index] ?? Number.NaN) / (round[0] ?? Number.NaN)),
          atMost(1.3),
          `${ms(index)} ms, at 1000 ${ms(0)} ms`,
        ),
      );
    }
  }
  for (const { service } of sized) await service.stop();
  return figures;
}

async function ask({ catalogue, service, middle }: Sized, name: Case, token: string): Promise<number> {
  const { isNew, parameters } = CASES[name];
  const path = listPath({ limit: LIMIT, ...(parameters === 'cursor' ? { cursor: middle } : parameters) });
  if (isNew) await changeRevisions(catalogue.client);
  return timeOf(() => service.get(path, token));
}

async function middleOf({ client }: Catalogue): Promise<string> {
  const { rows } = await client.query<{ name: string }>(
    `select name from entry order by name offset (select count(*) / 2 from entry) limit 1`,
  );
  return encodeCursor('servers', { filter: {}, limit: LIMIT, after: { name: rows[0]?.name, key: '0' } });
}
