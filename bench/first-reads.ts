import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { nextListCursor } from '#service/catalog/list-request.js';
import { changeRevisions, SEES_ALL } from './data/catalogue.js';
import type { BareReads } from './harness/bare-reads.js';
import { Child, freePort } from './harness/child.js';
import { eachOncePerSecond, sendAll } from './harness/each-once.js';
import { atLeast, type Figure, figure } from './harness/figure.js';
import { say } from './harness/report.js';
import { median, rounds } from './harness/rounds.js';
import { listPath, startService } from './harness/service.js';
import type { Catalogue, Stage } from './harness/stage.js';

const CALLERS = 100;
/** The service's default. */
const POOL = 10;
const LIMITS = [30, 100];
/** Targets by number of connections. */
const BY_NAME = { 16: 0.55, 1: 0.55 };
const LISTS = { 16: 0.45, 1: 0.45 };
const PAGES = 4_000;
/**
 * Requests to both sides before they are measured: until V8 has compiled a route, its requests take several times as long
 * as later. A round of two seconds would otherwise measure compiling, and more so on the slower side, which gets fewer requests.
 */
const WARM_UP = { names: 10_000, pages: 2_000 };
const WARM_UP_CONNECTIONS = 16;
const BARE_READS = fileURLToPath(new URL('./harness/bare-reads.js', import.meta.url));

/** One resource: its path in the service and in the bare route. */
interface Read {
  readonly path: string;
  readonly barePath: string;
}

interface Row {
  readonly id: string;
  readonly name: string;
  readonly key: string;
}

/**
 * Measures uncached reads: every request is for another name or page, by one of 100 callers with RS256 tokens who
 * see everything through claims. The baseline is a bare Nest + Express route with an equal pool. It verifies the
 * token (cached, as in the service) and runs one prepared SELECT by primary key or, for a list, by the ids of its
 * rows.
 */
export async function measureFirstReads(stage: Stage, quick: boolean): Promise<Figure[]> {
  const catalogue = await stage.catalogue(100_000, 200);
  const { client } = catalogue;
  const service = await startService(stage, catalogue);
  const tokens = Array.from({ length: CALLERS }, (_, caller) =>
    stage.issuer.tokenOf({ sub: `caller-${caller}`, ...SEES_ALL }),
  );
  const figures: Figure[] = [];
  const versions = await shownVersions(client);
  const names: Read[] = await latestOf(client);
  const measure = async (
    row: string,
    reads: readonly Read[],
    bare: Child,
    { targets, warmUp }: { readonly targets: typeof LISTS; readonly warmUp: number },
  ) => {
    await expectSameBytes(service, bare, reads, tokens[0] ?? '');
    const asked = (path: keyof Read) =>
      shuffled(reads).map((read, at) => ({ path: read[path], token: tokens[at % CALLERS] ?? '' }));
    say(`${row}, warm-up`);
    for (const [{ url }, path] of [
      [bare, 'barePath'],
      [service, 'path'],
    ] as const)
      await sendAll({ url, requests: asked(path).slice(0, warmUp), connections: WARM_UP_CONNECTIONS });
    for (const [connections, target] of Object.entries(targets)) {
      const load = { connections: Number(connections), seconds: quick ? 2 : 3 };
      const measured = await rounds(quick ? 3 : 7, async (round) => {
        say(`${row}, ${connections} connections, round ${round}`);
        const plain = await eachOncePerSecond({ ...load, url: bare.url, requests: asked('barePath') });
        await changeRevisions(client);
        // Excludes the first read after a change, which has a separate benchmark.
        await service.get(listPath({ limit: 1 }), tokens[0] ?? '');
        const own = await eachOncePerSecond({ ...load, url: service.url, requests: asked('path') });
        return { plain, own };
      });
      const at = (who: 'own' | 'plain') => median(measured.map((round) => round[who])).toFixed(0);
      figures.push(
        figure(
          `${row}, uncached, ${connections} connections`,
          'requests/s / bare route with one prepared SELECT',
          measured.map(({ own, plain }) => own / plain),
          atLeast(target),
          `${at('own')} of ${at('plain')} per second`,
        ),
      );
    }
  };
  const byName = await bareReads(stage, catalogue, [], 0);
  await measure('latest of one name', names, byName, { targets: BY_NAME, warmUp: WARM_UP.names });
  await byName.stop();
  for (const limit of LIMITS) {
    const { reads, pages } = pagesOf(versions, limit);
    const bare = await bareReads(stage, catalogue, pages, limit);
    await measure(`list of ${limit}`, reads, bare, { targets: LISTS, warmUp: WARM_UP.pages });
    await bare.stop();
  }
  await service.stop();
  return figures;
}

async function bareReads(
  stage: Stage,
  { connection }: Catalogue,
  pages: BareReads['pages'],
  limit: number,
): Promise<Child> {
  const port = await freePort();
  const file = join(stage.folder, `bare-reads-${limit}.json`);
  const { host, user, database } = connection;
  const asked: BareReads = {
    connection: { host, port: connection.port, user, database, max: POOL },
    key: stage.issuer.key,
    pages,
    limit,
  };
  await writeFile(file, JSON.stringify(asked));
  return Child.start([BARE_READS, String(port), file], { port, readiness: { port, path: '/ready' } });
}

// If several entries share a name, the first source's is shown; deleted versions are not shown.
const SHOWN = `(select distinct on (name) id, name from entry where type = 'server' order by name, source_id) e
  join entry_version v on v.entry_id = e.id and v.status <> 'deleted'`;

async function shownVersions(client: pg.Client): Promise<Row[]> {
  const { rows } = await client.query<Row>(
    `select v.id, e.name, v.version_key as key from ${SHOWN} order by e.name, v.version_key desc`,
  );
  return rows;
}

async function latestOf(client: pg.Client): Promise<Read[]> {
  const { rows } = await client.query<Row>(`select v.id, e.name from ${SHOWN} where v.is_latest`);
  return rows.map(({ id, name }) => ({
    path: `/registry/main/v0.1/servers/${encodeURIComponent(name)}/versions/latest`,
    barePath: `/versions/${id}`,
  }));
}

/** Pages that begin at arbitrary positions, selected by cursor. */
function pagesOf(versions: readonly Row[], limit: number): { reads: Read[]; pages: string[][] } {
  const apart = Math.floor((versions.length - 2 * limit) / PAGES);
  const reads: Read[] = [];
  const pages: string[][] = [];
  for (let page = 0; page < PAGES; page += 1) {
    const after = versions[page * apart];
    if (!after) break;
    const cursor = nextListCursor('server', { filter: {}, limit, after: null }, after);
    reads.push({ path: listPath({ cursor }), barePath: `/lists/${page}` });
    pages.push(versions.slice(page * apart + 1, page * apart + 1 + limit).map(({ id }) => id));
  }
  return { reads, pages };
}

async function expectSameBytes(service: Child, bare: Child, reads: readonly Read[], token: string) {
  for (const { path, barePath } of shuffled(reads).slice(0, 5))
    if ((await service.get(path, token)) !== (await bare.get(barePath, token)))
      throw new Error(`${barePath} sends different bytes than ${path}`);
}

function shuffled<T>(all: readonly T[]): T[] {
  return all
    .map((one) => ({ one, at: Math.random() }))
    .sort((first, second) => first.at - second.at)
    .map(({ one }) => one);
}
