import type pg from 'pg';
import { encodeCursor } from '#service/http/lists.js';
import { SEES_ALL } from './data/catalogue.js';
import { type Figure, figure, reportedOnly } from './harness/figure.js';
import { say } from './harness/report.js';
import { median, rounds, timeOf } from './harness/rounds.js';
import { listPath, startService } from './harness/service.js';
import type { Stage } from './harness/stage.js';

const LIMIT = 30;
const REQUESTS = 20;

/**
 * Compares the first read after an entry gets new claims, which changes a view of many partitions, with a first
 * read without a change. Both read an uncached page, for a caller who sees everything through claims.
 */
export async function measureChanges(stage: Stage, quick: boolean): Promise<Figure[]> {
  const token = stage.issuer.tokenOf(SEES_ALL);
  const figures: Figure[] = [];
  const worlds = [
    { versions: 100_000, claimSets: 200 },
    { versions: 100_000, claimSets: 2_000 },
    ...(quick ? [] : [{ versions: 1_000_000, claimSets: 20_000 }]),
  ];
  for (const { versions, claimSets } of worlds) {
    const catalogue = await stage.catalogue(versions, claimSets);
    const { client } = catalogue;
    const service = await startService(stage, catalogue);
    const { rows: names } = await client.query<{ name: string }>(
      `select name from entry order by random() limit 2000`,
    );
    const nextPage = () => {
      const after = { name: names.pop()?.name, key: '~' };
      const cursor = encodeCursor('servers', { filter: {}, limit: LIMIT, after });
      return timeOf(() => service.get(listPath({ cursor }), token));
    };
    const partitions = await countPartitions(client);
    let changes = 0;
    const measured = await rounds(quick ? 3 : 7, async (round) => {
      say(`changes at ${partitions} partitions, round ${round}`);
      const times = { unchanged: [] as number[], changed: [] as number[] };
      for (let request = 0; request < REQUESTS; request += 1) {
        changes += 1;
        await giveNewClaims(client, changes);
        times.changed.push(await nextPage());
        times.unchanged.push(await nextPage());
      }
      return { unchanged: median(times.unchanged), changed: median(times.changed) };
    });
    await service.stop();
    const ms = (which: 'unchanged' | 'changed') => median(measured.map((round) => round[which])).toFixed(2);
    const thousands = Math.round(partitions / 1_000);
    figures.push(
      figure(
        `first read after a change, ${thousands} 000 partitions`,
        'time / first read without a change',
        measured.map(({ changed, unchanged }) => changed / unchanged),
        reportedOnly,
        `${ms('changed')} ms, without a change ${ms('unchanged')} ms`,
      ),
    );
  }
  return figures;
}

async function countPartitions(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ count: string }>('select count(*) from source_partition');
  return Number(rows[0]?.count);
}

/** Gives one entry of one source unique claims. The triggers run, as in a publication. */
async function giveNewClaims(client: pg.Client, change: number): Promise<void> {
  await client.query(
    `with made as (
       insert into claim_set (claims, digest)
       values (jsonb_build_object('org', 'acme', 'team', jsonb_build_array('everybody', $1::text)), sha256(convert_to($1, 'UTF8')))
       returning id
     ), changed as (
       update entry set claim_set_id = made.id from made
       where entry.id = (select id from entry where source_id = 1 and type = 'server' order by name offset $2 limit 1)
       returning source_id
     )
     update source set revision = revision + 1 from changed where id = source_id`,
    [`${Date.now()}-${change}`, change],
  );
}
