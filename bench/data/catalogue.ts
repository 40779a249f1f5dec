import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { canonicalClaims } from '#service/claims/claims.js';
import { checkDocument, formatProblem } from '#service/documents/document-check.js';
import { searchTextOf } from '#service/documents/entry-types.js';
import { summaryOf } from '#service/entry-store/entry-summary.js';
import { versionKey } from '#service/documents/versions.js';
import { nameOf, serverDocument } from './documents.js';
import { withoutIndexes } from './indexes.js';

export interface CatalogueSize {
  readonly versions: number;
  /** Versions of each entry, at most and by default `VERSIONS_A_NAME`. */
  readonly versionsEach?: number;
  readonly claimSets: number;
  /** 3 to 8, all in the registry `main`. */
  readonly sources: number;
  readonly seed: number;
}

const REGISTRY = 'main';
export const VERSIONS_A_NAME = 5;
/** Oldest first; in every twentieth entry the newest is deleted, so that another is latest. */
const VERSIONS = ['1.0.0', '1.1.0', '1.2.0-rc.1', '1.2.0', '2.0.0'];
/**
 * Seven of ten entries have unique names; one name is in two sources, and one in three, which are adjacent.
 */
const NAMES = [0, 1, 2, 3, 4, 5, 5, 6, 6, 6];
const DISTINCT = 7;
/** One in this many entries has the first claim set, regardless of the number of claim sets. */
const RARE = 1_000;
const CHECKED = 200;
const DAY_MS = 86_400_000;
const NEWEST = Date.UTC(2026, 9, 1);
const ROWS_A_CHUNK = 200;

/** "any" lets a single value match all teams: a token with 2,000 values would not fit into a header. */
export const teamClaims = (team: number) => ({ org: 'acme', team: ['everybody', `team-${team}`] });
/** Callers of a catalog, by the entries they see. */
export const SEES_ALL = { org: 'acme', team: 'everybody' };
/** 0.1 % of the entries. */
export const SEES_LITTLE = { org: 'acme', team: 'team-0' };
/** Teams that together see half of the entries of a catalog with 200 claim sets. */
export const HALF_OF_TEAMS = Array.from({ length: 99 }, (_, index) => `team-${index + 1}`);
/** A word in every entry that these teams do not see, and in no other. */
export const HIDDEN_WORD = 'clandestine';
const isHiddenFromHalf = (entry: number) => {
  const at = scrambled(entry);
  return at % RARE !== 0 && at % 199 >= HALF_OF_TEAMS.length;
};

/**
 * Fills a migrated, empty database as syncs and publications would: documents, search texts, digests, order
 * and latest versions, deterministic for the seed.
 */
export async function fillCatalogue(client: pg.Client, size: CatalogueSize): Promise<void> {
  checkSample(size);
  // Data lost in a crash is recreated; the settings are reverted below.
  await configure(client, 'alter system set fsync = off');
  await client.query(`set session_replication_role = replica; set maintenance_work_mem = '512MB'`);
  const claimSets = await addClaimSets(client, size.claimSets);
  await addSources(client, size.sources);
  await withoutIndexes(client, ['entry', 'entry_version'], async () => {
    await copy(client, 'entry (id, source_id, type, name, claim_set_id)', entryRows(size, claimSets));
    await copy(
      client,
      `entry_version (entry_id, version, version_key, document, digest, status, status_changed_at, published_at, updated_at,
        is_latest, search, summary)`,
      versionRows(size),
    );
  });
  await client.query(`select setval(pg_get_serial_sequence('entry', 'id'), max(id)) from entry`);
  await client.query('reset session_replication_role');
  await notePartitions(client);
  await client.query('reset maintenance_work_mem');
  await changeRevisions(client);
  await client.query('vacuum analyze');
  await configure(client, 'alter system reset fsync');
  await client.query('checkpoint');
}

/** Redistributes claim sets over the existing entries, which is much faster than refilling. */
export async function dealClaimSets(client: pg.Client, count: number): Promise<void> {
  const claimSets = await addClaimSets(client, count);
  await client.query(
    `update entry set revision = (select revision + 1 from source where id = source_id), claim_set_id = ($1::int[])[case when ${SCRAMBLED} % ${RARE} = 0 then 1 else 2 + ${SCRAMBLED} % ($2::int - 1) end]`,
    [claimSets, count],
  );
  await notePartitions(client);
  await changeRevisions(client);
  await client.query('vacuum (full, analyze) entry');
}

// Rebuilds the table of partitions: the bulk load bypasses its triggers.
async function notePartitions(client: pg.Client): Promise<void> {
  await client.query('truncate source_partition');
  await client.query(
    'insert into source_partition (source_id, claim_set_id) select distinct source_id, claim_set_id from entry',
  );
}

/** Invalidates all cached data of the catalog, as a sync or publication does. */
export async function changeRevisions(client: pg.Client): Promise<void> {
  await client.query('update source set revision = revision + 1');
}

// A number unrelated to the entry's name, source or position in the table.
const scrambled = (entry: number) => (entry * 2_654_435_761) % 4_294_967_291;
const SCRAMBLED = '(id * 2654435761 % 4294967291)';

async function addClaimSets(client: pg.Client, count: number): Promise<number[]> {
  const all = [{}, ...Array.from({ length: count }, (_, team) => teamClaims(team))].map(canonicalClaims);
  const digests = all.map((claims) => createHash('sha256').update(claims).digest());
  await client.query(
    `insert into claim_set (claims, digest) select * from unnest($1::jsonb[], $2::bytea[]) on conflict do nothing`,
    [all, digests],
  );
  const { rows } = await client.query<{ id: number }>(
    `select id from claim_set where digest = any($1) order by array_position($1, digest)`,
    [digests.slice(1)],
  );
  return rows.map(({ id }) => id);
}

// Only one source can be managed. The others are never due, so their files are never read.
async function addSources(client: pg.Client, count: number): Promise<void> {
  await client.query(
    `with unlabeled as (select id from claim_set where claims = '{}'),
     made as (
       insert into source (name, kind, settings, claim_set_id, origin)
       select 'source-' || n, case n when 1 then 'managed' else 'file' end, '{"path": "none.json"}', unlabeled.id, 'api'
       from unlabeled, generate_series(1, $1::int) n order by n returning id
     ), registry as (
       insert into registry (name, claim_set_id, origin, position) select $2, id, 'api', 0 from unlabeled returning id
     ), synced as (insert into source_sync (source_id, status, last_success_at) select id, 'complete', now() from made)
     insert into registry_source (registry_id, position, source_id)
     select registry.id, row_number() over (order by made.id) - 1, made.id from registry, made`,
    [count, REGISTRY],
  );
}

function documentOf(name: string, version: string, entry: number, seed: number): object {
  return serverDocument(name, version, entry, seed, isHiddenFromHalf(entry) ? HIDDEN_WORD : undefined);
}

function* entryRows(size: CatalogueSize, claimSets: readonly number[]): Generator<string> {
  for (const { id, name, source } of entries(size)) {
    const at = scrambled(id);
    const set = at % RARE === 0 ? 0 : 1 + (at % (claimSets.length - 1));
    yield `${id}\t${source}\tserver\t${name}\t${claimSets[set]}\n`;
  }
}

function* versionRows(size: CatalogueSize): Generator<string> {
  const first = VERSIONS_A_NAME - (size.versionsEach ?? VERSIONS_A_NAME);
  for (const { id, name } of entries(size)) {
    const newestIsDeleted = id % 20 === 0;
    for (const [at, version] of VERSIONS.entries()) {
      if (at < first) continue;
      const document = documentOf(name, version, id, size.seed);
      const text = JSON.stringify(document);
      const isNewest = at === VERSIONS.length - 1;
      const isLatest = at === VERSIONS.length - (newestIsDeleted ? 2 : 1);
      const status = isNewest && newestIsDeleted ? 'deleted' : id % 50 === 1 ? 'deprecated' : 'active';
      const published = new Date(
        NEWEST - (scrambled(id) % 300) * DAY_MS - (VERSIONS.length - at) * 9 * DAY_MS,
      );
      const time = published.toISOString();
      const digest = createHash('sha256').update(text).digest('hex');
      const search = searchTextOf('server', document as Record<string, unknown>);
      const summary = isLatest
        ? escaped(JSON.stringify(summaryOf({ type: 'server', name, version, document: text })))
        : '\\N';
      yield (
        `${id}\t${version}\t${versionKey(version, published)}\t${escaped(text)}\t\\\\x${digest}\t${status}\t` +
        `${time}\t${time}\t${time}\t${isLatest}\t${escaped(search)}\t${summary}\n`
      );
    }
  }
}

interface BenchEntry {
  readonly id: number;
  readonly source: number;
  readonly name: string;
}

function* entries(size: CatalogueSize): Generator<BenchEntry> {
  const { versions, versionsEach = VERSIONS_A_NAME, sources, seed } = size;
  for (let number = 0; number < versions / versionsEach; number += 1) {
    const ten = Math.floor(number / NAMES.length);
    const name = nameOf(ten * DISTINCT + (NAMES[number % NAMES.length] ?? 0), seed);
    yield { id: number + 1, source: 1 + ((number + ten) % sources), name };
  }
}

// Guards against documents that no publication would accept.
function checkSample(size: CatalogueSize): void {
  let left = CHECKED;
  for (const { id, name } of entries(size)) {
    if ((left -= 1) < 0) return;
    const document = documentOf(name, VERSIONS[id % VERSIONS.length] ?? '', id, size.seed);
    const { problems, version } = checkDocument('server', document);
    if (problems.length > 0) throw new Error(`${name}: ${problems.map(formatProblem).join('; ')}`);
    const bytes = version?.document.length ?? 0;
    if (bytes < 1_400 || bytes > 4_100) throw new Error(`${name} has ${bytes} bytes`);
  }
}

async function copy(client: pg.Client, table: string, rows: Iterable<string>): Promise<void> {
  await pipeline(Readable.from(chunked(rows)), client.query(copyFrom(`copy ${table} from stdin`)));
}

function* chunked(rows: Iterable<string>): Generator<Buffer> {
  let chunk: string[] = [];
  for (const row of rows) {
    chunk.push(row);
    if (chunk.length < ROWS_A_CHUNK) continue;
    yield Buffer.from(chunk.join(''));
    chunk = [];
  }
  yield Buffer.from(chunk.join(''));
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\t', '\\t');
}

async function configure(client: pg.Client, statement: string): Promise<void> {
  await client.query(statement);
  await client.query('select pg_reload_conf()');
}
