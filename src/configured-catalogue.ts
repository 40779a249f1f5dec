import { isDeepStrictEqual } from 'node:util';
import type { DataSource, EntityManager } from 'typeorm';
import { internClaimSet } from './authz/claim-set.queries.js';
import type { Config, RegistryConfig, SourceConfig } from './config/config.js';
import { EntryWriter } from './entries/entry-writer.js';
import { Source } from './sources/source.entity.js';

const LOCK = 7_264_018_532;
/** Kinds whose entries carry the claims of their source (spec §2.4). */
const INHERITS_CLAIMS = new Set<string>(['git', 'api', 'file']);

/** What a start changed, as short lines such as `source catalog: created`. */
export type Plan = string[];

/** Something declared in the file that the database has no place for; the message is for the administrator. */
export class ConfigurationConflict extends Error {}

/**
 * Makes the rows of origin `config` equal to the file, in one transaction (contract §2): sources and registries are
 * created, changed, and removed with their entries. Rows made through the API are never touched.
 *
 * @throws ConfigurationConflict when a name is taken by a row of origin `api`, or one of those needs a source that left.
 */
export async function applyConfiguredCatalogue(dataSource: DataSource, config: Config): Promise<Plan> {
  return dataSource.transaction(async (manager) => {
    // Replicas that start together take turns.
    await manager.query(`select pg_advisory_xact_lock(${LOCK})`);
    const plan: Plan = [];
    // Registries that left the file go first: they may hold the last reference to a source that left too.
    await removeRegistries(manager, config, plan);
    for (const source of config.sources) await putSource(manager, source, plan);
    for (const [position, registry] of config.registries.entries())
      await putRegistry(manager, registry, position, plan);
    await removeSources(manager, config, plan);
    // Every start syncs what can be synced: the file may have changed while the server was down.
    await manager.query(
      `update source_sync y set next_run_at = now() from source s
       where s.id = y.source_id and s.origin = 'config' and s.interval_ms is not null`,
    );
    return plan;
  });
}

async function putSource(manager: EntityManager, declared: SourceConfig, plan: Plan): Promise<void> {
  const claimSetId = await internClaimSet(manager, declared.claims);
  const found = await manager.getRepository(Source).findOneBy({ name: declared.name });
  const row = [
    declared.name,
    declared.kind,
    JSON.stringify(declared.settings),
    declared.filter && JSON.stringify(declared.filter),
    declared.intervalMs,
    claimSetId,
  ];
  if (!found) {
    const [created] = await manager.query<{ id: number }[]>(
      `insert into source (name, kind, settings, filter, interval_ms, claim_set_id, origin)
       values ($1, $2, $3, $4, $5, $6, 'config') returning id`,
      row,
    );
    await manager.query(`insert into source_sync (source_id) values ($1)`, [created?.id]);
    plan.push(`source ${declared.name}: created`);
    return;
  }
  refuseApiMade('source', declared.name, found.origin);
  const sameContent =
    found.kind === declared.kind &&
    isDeepStrictEqual(found.settings, plain(declared.settings)) &&
    isDeepStrictEqual(found.filter, plain(declared.filter));
  const sameInterval = (found.intervalMs === null ? null : Number(found.intervalMs)) === declared.intervalMs;
  if (sameContent && sameInterval && found.claimSetId === claimSetId) return;
  await manager.query(
    `update source set kind = $2, settings = $3, filter = $4, interval_ms = $5, claim_set_id = $6,
       revision = revision + 1, updated_at = now() where name = $1`,
    row,
  );
  if (!sameContent)
    await manager.query(
      `update source_sync set content_digest = null, lease_owner = null, lease_until = null where source_id = $1`,
      [found.id],
    );
  if (INHERITS_CLAIMS.has(declared.kind)) await new EntryWriter().relabel(manager, found.id, claimSetId);
  plan.push(`source ${declared.name}: changed`);
}

async function putRegistry(
  manager: EntityManager,
  declared: RegistryConfig,
  position: number,
  plan: Plan,
): Promise<void> {
  const claimSetId = await internClaimSet(manager, declared.claims);
  const [found] = await manager.query<
    { id: number; origin: string; position: number; claimSetId: number; sources: string[] }[]
  >(
    `select r.id, r.origin, r.position, r.claim_set_id as "claimSetId", coalesce((
       select json_agg(s.name order by rs.position) from registry_source rs join source s on s.id = rs.source_id
       where rs.registry_id = r.id), '[]') as sources
     from registry r where r.name = $1`,
    [declared.name],
  );
  if (found) {
    refuseApiMade('registry', declared.name, found.origin);
    const same = isDeepStrictEqual(found.sources, [...declared.sources]) && found.claimSetId === claimSetId;
    if (same && found.position === position) return;
    plan.push(`registry ${declared.name}: ${same ? 'moved' : 'changed'}`);
  } else plan.push(`registry ${declared.name}: created`);
  const [stored] = await manager.query<{ id: number }[]>(
    `insert into registry (name, claim_set_id, origin, position) values ($1, $2, 'config', $3)
     on conflict (name) do update set claim_set_id = $2, position = $3, revision = registry.revision + 1,
       updated_at = now()
     returning id`,
    [declared.name, claimSetId, position],
  );
  await manager.query(`delete from registry_source where registry_id = $1`, [stored?.id]);
  await manager.query(
    `insert into registry_source (registry_id, position, source_id)
     select $1, n.position, s.id from unnest($2::text[]) with ordinality as n(name, position)
     join source s on s.name = n.name`,
    [stored?.id, declared.sources],
  );
}

async function removeRegistries(manager: EntityManager, config: Config, plan: Plan): Promise<void> {
  const [removed] = await manager.query<[{ name: string }[], number]>(
    `delete from registry where origin = 'config' and name <> all($1::text[]) returning name`,
    [config.registries.map((registry) => registry.name)],
  );
  for (const { name } of removed) plan.push(`registry ${name}: removed`);
}

async function removeSources(manager: EntityManager, config: Config, plan: Plan): Promise<void> {
  const names = config.sources.map((source) => source.name);
  const used = await manager.query<{ source: string; registry: string }[]>(
    `select s.name as source, r.name as registry from source s
     join registry_source rs on rs.source_id = s.id join registry r on r.id = rs.registry_id
     where s.origin = 'config' and s.name <> all($1::text[]) order by 1, 2`,
    [names],
  );
  if (used.length > 0)
    throw new ConfigurationConflict(
      used
        .map(
          ({ source, registry }) =>
            `sources: ${source} left the configuration, but the registry ${registry}, made through the API, still uses it`,
        )
        .join('\n'),
    );
  const [removed] = await manager.query<[{ name: string }[], number]>(
    `delete from source where origin = 'config' and name <> all($1::text[]) returning name`,
    [names],
  );
  for (const { name } of removed) plan.push(`source ${name}: removed with its entries`);
}

function refuseApiMade(noun: 'source' | 'registry', name: string, origin: string): void {
  if (origin === 'api')
    throw new ConfigurationConflict(
      `${noun === 'source' ? 'sources' : 'registries'}: a ${noun} named ${name} was made through the API already; rename one of them`,
    );
}

// As it will come back from the database: members that are undefined are not stored.
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
