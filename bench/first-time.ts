import type pg from 'pg';
import { changeRevisions, SEES_ALL } from './data/catalogue.js';
import { atLeast, type Figure, figure, toldOnly } from './harness/figure.js';
import { say } from './harness/report.js';
import { median, rounds, timeOf } from './harness/rounds.js';
import { listPath, pageOf, startService } from './harness/service.js';
import type { Stage } from './harness/stage.js';

/**
 * Pages nobody has asked for since the catalogue changed, over HTTP and by a caller who sees all of it through claims,
 * against a prepared `SELECT` of the same rows by their ids through `pg`. Both from here, one after the other. What the page
 * takes that is at hand by then tells how much of it is HTTP and authorization.
 */
export async function measureFirstTime(stage: Stage, quick: boolean): Promise<Figure[]> {
  const catalogue = await stage.catalogue(100_000, 200);
  const { client } = catalogue;
  const service = await startService(stage, catalogue);
  const token = stage.issuer.tokenOf(SEES_ALL);
  const figures: Figure[] = [];
  for (const limit of [30, 100]) {
    const path = listPath({ limit });
    const ids = await idsOf(client, (await pageOf(service, token, { limit })).servers);
    const measured = await rounds(quick ? 5 : 11, async (round) => {
      say(`first time, ${limit}, round ${round}`);
      const times = { select: [] as number[], own: [] as number[], again: [] as number[] };
      for (let request = 0; request < 20; request += 1) {
        await changeRevisions(client);
        times.own.push(await timeOf(() => service.get(path, token)));
        times.select.push(await timeOf(() => select(client, ids)));
        times.again.push(await timeOf(() => service.get(path, token)));
      }
      return { select: median(times.select), own: median(times.own), again: median(times.again) };
    });
    const [last] = measured.slice(-1);
    figures.push(
      figure(
        `list of ${limit}, first time`,
        'time of a SELECT of the same rows over ours',
        measured.map((round) => round.select / round.own),
        atLeast(0.5),
        last && `${last.own.toFixed(2)} ms, SELECT ${last.select.toFixed(2)} ms`,
      ),
      figure(
        `list of ${limit}, first time`,
        'the same for a page that is at hand: no page can take less',
        measured.map((round) => round.select / round.again),
        toldOnly,
        last && `${last.again.toFixed(2)} ms`,
      ),
    );
  }
  await service.stop();
  return figures;
}

// Of several entries with one name the page shows the first that is visible: to this caller, that of the first source.
async function idsOf(
  client: pg.Client,
  servers: readonly { server: { name: string; version: string } }[],
): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    `select distinct on (e.name, v.version_key) v.id from entry e join entry_version v on v.entry_id = e.id
     join unnest($1::text[], $2::text[]) as n(name, version) on n.name = e.name and n.version = v.version
     order by e.name, v.version_key, e.source_id`,
    [servers.map(({ server }) => server.name), servers.map(({ server }) => server.version)],
  );
  if (rows.length !== servers.length) throw new Error(`${rows.length} rows for ${servers.length} servers`);
  return rows.map(({ id }) => id);
}

async function select(client: pg.Client, ids: readonly string[]): Promise<void> {
  const { rowCount } = await client.query({
    name: 'rows',
    text: `select e.name, v.version, v.version_key, v.document, v.status, v.status_message, v.status_changed_at,
        v.published_at, v.updated_at, v.is_latest
      from entry_version v join entry e on e.id = v.entry_id where v.id = any($1::bigint[])`,
    values: [ids],
  });
  if (rowCount !== ids.length) throw new Error(`${rowCount} rows for ${ids.length} ids`);
}
