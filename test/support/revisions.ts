import { beforeAll } from 'vitest';
import type { ServiceUnderTest } from './service.js';

const DEMAND = `
create function demand_revision() returns trigger language plpgsql as $body$
declare changed int;
begin
  if tg_table_name = 'entry' then changed := coalesce(new.source_id, old.source_id);
  elsif tg_table_name = 'entry_version' then
    select source_id into changed from entry where id = coalesce(new.entry_id, old.entry_id);
  else
    select e.source_id into changed from entry_version v join entry e on e.id = v.entry_id
    where v.id = coalesce(new.version_id, old.version_id);
  end if;
  if exists (select from source where id = changed)
      and coalesce(current_setting('test.raised', true), '') not like '%,' || changed || ',%' then
    raise exception '% changed without the revision of its source', tg_table_name;
  end if;
  return null;
end $body$;
create function note_revision() returns trigger language plpgsql as $body$
begin
  perform set_config('test.raised', coalesce(current_setting('test.raised', true), '') || ',' || new.id || ',', true);
  return null;
end $body$;
create trigger test_raised after update of revision on source for each row
  when (new.revision > old.revision) execute function note_revision();
${[
  'insert or delete or update of claim_set_id on entry',
  'insert or delete or update of version_key, document, status, status_message, is_latest on entry_version',
  'insert on version_content',
]
  .map(
    (change, number) => `create constraint trigger test_demand_${number} after ${change}
      deferrable initially deferred for each row execute function demand_revision();`,
  )
  .join('\n')}`;

/**
 * Fails every transaction of a service that changes an entry, a version or its content without raising the
 * revision of its source, because caches would not notice the change.
 */
export function demandRevisions(service: ServiceUnderTest): void {
  beforeAll(async () => {
    await service.database.query(DEMAND);
  });
}
