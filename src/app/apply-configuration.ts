import type { DataSource, EntityManager } from 'typeorm';
import type { Config, RegistryConfig, SourceConfig } from '../config/config.js';
import { lockCatalogue } from '../database/locks.js';
import { EntryWriter } from '../entries/writer/entry-writer.js';
import { RegistryWriter } from '../registries/registry-writer.js';
import { SourceWriter } from '../sources/source-writer.js';

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
export async function applyConfiguration(dataSource: DataSource, config: Config): Promise<Plan> {
  return dataSource.transaction(async (manager) => {
    // Replicas that start together take turns, and so do callers of the admin API.
    await lockCatalogue(manager);
    const plan: Plan = [];
    // What left the file goes first: registries, because they may hold the last reference to a source that left too, and
    // sources, because of the managed kind there can be one only, whatever its name.
    await removeRegistries(manager, config, plan);
    const shrunkRegistries = await removeSources(manager, config, plan);
    await refuseSecondManaged(manager, config);
    for (const source of config.sources) await putSource(manager, source, plan);
    for (const [position, registry] of config.registries.entries())
      await putRegistry(manager, registry, position, shrunkRegistries, plan);
    // Every start syncs what can be synced: the file may have changed while the server was down.
    await manager.query(
      `update source_sync y set next_run_at = now() from source s
       where s.id = y.source_id and s.origin = 'config' and s.interval_ms is not null`,
    );
    return plan;
  });
}

async function putSource(manager: EntityManager, declared: SourceConfig, plan: Plan): Promise<void> {
  await refuseApiMade(manager, 'source', declared.name);
  const outcome = await new SourceWriter(new EntryWriter()).put(manager, declared, 'config');
  if (outcome !== 'unchanged') plan.push(`source ${declared.name}: ${outcome}`);
}

async function putRegistry(
  manager: EntityManager,
  declared: RegistryConfig,
  position: number,
  shrunkRegistries: ReadonlySet<string>,
  plan: Plan,
): Promise<void> {
  await refuseApiMade(manager, 'registry', declared.name);
  const outcome = await new RegistryWriter().put(manager, declared, 'config', position);
  const isShrunk = outcome === 'unchanged' && shrunkRegistries.has(declared.name);
  if (isShrunk)
    await manager.query(`update registry set revision = revision + 1, updated_at = now() where name = $1`, [
      declared.name,
    ]);
  if (isShrunk || outcome !== 'unchanged')
    plan.push(`registry ${declared.name}: ${isShrunk ? 'changed' : outcome}`);
}

async function removeRegistries(manager: EntityManager, config: Config, plan: Plan): Promise<void> {
  const [removed] = await manager.query<[{ name: string }[], number]>(
    `delete from registry where origin = 'config' and name <> all($1::text[]) returning name`,
    [config.registries.map((registry) => registry.name)],
  );
  for (const { name } of removed) plan.push(`registry ${name}: removed`);
}

// A source whose kind is another one now leaves too: what it held came from somewhere else. Answers which registries lost
// one.
async function removeSources(
  manager: EntityManager,
  config: Config,
  plan: Plan,
): Promise<ReadonlySet<string>> {
  const leaving = await manager.query<{ id: number; name: string }[]>(
    `select id, name from source where origin = 'config' and (name, kind) not in (
       select * from unnest($1::text[], $2::text[])) order by name for update`,
    [config.sources.map(({ name }) => name), config.sources.map(({ kind }) => kind)],
  );
  const ids = leaving.map(({ id }) => id);
  const used = await manager.query<{ source: string; registry: string }[]>(
    `select s.name as source, r.name as registry from source s
     join registry_source rs on rs.source_id = s.id join registry r on r.id = rs.registry_id
     where s.id = any($1::int[]) and r.origin = 'api' order by 1, 2`,
    [ids],
  );
  if (used.length > 0)
    throw new ConfigurationConflict(
      used
        .map(
          ({ source, registry }) =>
            `sources: ${source} left the configuration, or is of another kind there, but the registry ${registry}, made through the API, still uses it`,
        )
        .join('\n'),
    );
  const [taken] = await manager.query<[{ name: string }[], number]>(
    `delete from registry_source rs using registry r
     where r.id = rs.registry_id and rs.source_id = any($1::int[]) returning r.name`,
    [ids],
  );
  await manager.query(`delete from source where id = any($1::int[])`, [ids]);
  for (const { name } of leaving) plan.push(`source ${name}: removed with its entries`);
  return new Set(taken.map(({ name }) => name));
}

async function refuseSecondManaged(manager: EntityManager, { sources }: Config): Promise<void> {
  const declared = sources.find(({ kind }) => kind === 'managed');
  const [other] = await manager.query<{ name: string }[]>(
    `select name from source where kind = 'managed' and origin = 'api'`,
  );
  if (declared && other)
    throw new ConfigurationConflict(
      `sources: ${declared.name} is a managed source, and there is one already, made through the API: ${other.name}`,
    );
}

async function refuseApiMade(
  manager: EntityManager,
  table: 'source' | 'registry',
  name: string,
): Promise<void> {
  const found = await manager.query<object[]>(
    `select 1 from ${table} where name = $1 and origin = 'api' for update`,
    [name],
  );
  if (found.length > 0)
    throw new ConfigurationConflict(
      `${table === 'source' ? 'sources' : 'registries'}: a ${table} named ${name} was made through the API already; rename one of them`,
    );
}
