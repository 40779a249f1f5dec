import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A tenth of a second's work if all begin with `v`. */
const VERSIONS_PER_BATCH = 500;

/** Semver with a leading `v`: number, pre-release, build metadata. */
const V_SEMVER =
  '^v(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)' +
  '(?:-((?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(?:\\.(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*))?' +
  '(?:\\+([0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*))?$';
/** The indexable part of that condition. */
const V_NUMBER = `v.version >= 'v0' and v.version < 'v:'`;

/** SQL: a number as version keys encode it. */
const numberKey = (digits: string) => `lpad(length(${digits})::text, 3, '0') || ${digits}`;
/** SQL: a list of identifiers as version keys encode it. */
const identifiersKey = (list: string) => `(
  select string_agg(
    case when i.text ~ '^[0-9]+$' then '1' || (
      select ${numberKey('n.digits')} from (select regexp_replace(i.text, '^0+(?=[0-9])', '') as digits) n
    ) else '2' || i.text || '!' end, '' order by i.place
  ) || ' '
  from unnest(string_to_array(${list}, '.')) with ordinality as i(text, place)
)`;

/** SQL: the latest version of each of these entries, as both the previous version and this one choose it. */
const elected = (entryIds: string) => `
  select a.entry_id, coalesce(
    (select v.id from entry_version v where v.entry_id = a.entry_id and v.status <> 'deleted'
     order by v.version_key desc limit 1),
    (select v.id from entry_version v where v.entry_id = a.entry_id order by v.version_key desc limit 1)
  ) as id
  from (${entryIds}) a`;
const ALL = `select id as entry_id from entry`;

/**
 * `v1.10.0` orders like `1.10.0`: newer than `v1.9.0` regardless of publication time.
 * documents/versions.ts defines the key; this is a frozen copy from when the migration was written.
 */
export class VersionKeys1796300000000 implements MigrationInterface {
  /** Batches of versions, by id. */
  async batch(runner: QueryRunner, after: string | null): Promise<string | null> {
    await keepWritersOut(runner);
    const [range] = (await runner.query(
      `select s.first, (
         select max(id) from (
           select id from entry_version where id >= s.first order by id limit ${VERSIONS_PER_BATCH}
         ) batch
       ) as last
       from (select coalesce($1::bigint + 1, (select min(v.id) from entry_version v where ${V_NUMBER})) as first) s`,
      [after],
    )) as { first: string | null; last: string | null }[];
    if (!range?.first || !range.last) return null;
    const inRange = `v.id between ${range.first} and ${range.last} and ${V_NUMBER}`;
    await runner.query(`
      update entry_version v
      set version_key = '1' || ${['p.number[1]', 'p.number[2]', 'p.number[3]'].map(numberKey).join(' || ')}
        || coalesce(${identifiersKey('p.number[4]')}, '~') || coalesce(${identifiersKey('p.number[5]')}, ' ')
        || '!' || v.version
      from (
        select v.id, regexp_match(v.version, '${V_SEMVER}') as number
        from entry_version v where ${inRange} offset 0
      ) p
      where v.id = p.id and p.number is not null`);
    await electLatest(runner, `select distinct v.entry_id from entry_version v where ${inRange}`);
    return range.last;
  }

  async up(runner: QueryRunner): Promise<void> {
    await outdatePages(runner);
  }

  async down(runner: QueryRunner): Promise<void> {
    await keepWritersOut(runner);
    await runner.query(`
      update entry_version v
      set version_key = case when v.version ~ '${V_SEMVER}'
        then '0' || lpad((extract(epoch from v.published_at) * 1000)::bigint::text, 16, '0') || ' ' || v.version
        else substr(v.version_key, 2) end
      where v.version_key >= '2' or (${V_NUMBER} and v.version ~ '${V_SEMVER}')`);
    await electLatest(runner, ALL);
    await outdatePages(runner);
  }
}

// A version written meanwhile by the previous version would get an old key. Reads continue.
async function keepWritersOut(runner: QueryRunner): Promise<void> {
  await runner.query(`lock table source, entry_version in exclusive mode`);
}

// Two statements: the unique index on latest is checked row by row.
async function electLatest(runner: QueryRunner, entryIds: string): Promise<void> {
  await runner.query(`
    update entry_version v set is_latest = false
    from (${elected(entryIds)}) e where v.entry_id = e.entry_id and v.is_latest and v.id <> e.id`);
  await runner.query(`
    update entry_version v set is_latest = true
    from (${elected(entryIds)}) e where v.id = e.id and not v.is_latest`);
}

/** Invalidates the pages that replicas have cached in the old order. */
async function outdatePages(runner: QueryRunner): Promise<void> {
  await runner.query(`update source set revision = revision + 1`);
}
