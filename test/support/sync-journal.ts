import type { TestDatabase } from './database.js';

interface Summary {
  readonly runs: number;
  readonly failed: number;
  /** Number of service starts that have run sources. */
  readonly owners: number;
  readonly sources: number;
  readonly thefts: number;
}

/** Records runs in the database, so that none is missed. */
export class SyncJournal {
  constructor(private readonly database: TestDatabase) {}

  async open(): Promise<void> {
    await this.database.query(`
      create table day_run (source_id integer not null, succeeded boolean not null, owner uuid not null)`);
    // A lease taken while another owner held it.
    await this.database.query(`create table day_theft (source_id integer not null)`);
    await this.database.query(`
      create function day_note() returns trigger language plpgsql as $$ begin
        if old.lease_owner is not null and new.lease_owner is null and new.next_run_at is not null
            and (new.status = 'failed' or new.last_success_at is distinct from old.last_success_at) then
          insert into day_run values (new.source_id, new.status = 'complete', old.lease_owner);
        end if;
        if old.lease_until > now() and new.lease_owner <> old.lease_owner then
          insert into day_theft values (new.source_id);
        end if;
        return null;
      end $$`);
    await this.database.query(`
      create trigger day_note after update on source_sync for each row execute function day_note()`);
  }

  /** Completed runs, successful or not; aborted ones do not count. */
  async runs(): Promise<number> {
    return this.count('day_run');
  }

  async summary(): Promise<Summary> {
    const [row] = await this.database.query<Summary>(
      `select count(*)::int as runs, (count(*) filter (where not succeeded))::int as failed,
         count(distinct owner)::int as owners, (select count(*)::int from day_theft) as thefts,
         count(distinct source_id)::int as sources from day_run`,
    );
    if (!row) throw new Error('The database returned nothing');
    return row;
  }

  /** Makes sources due now, like a manual sync: the given ones, or each with this probability. */
  async press(which: number | readonly string[]): Promise<void> {
    const [part, names] = typeof which === 'number' ? [which, null] : [1, which];
    await this.database.query(
      `update source_sync set requested_at = clock_timestamp(), next_run_at = now()
       where next_run_at > now() and lease_owner is null and random() < $1
         and ($2::text[] is null or source_id in (select id from source where name = any($2)))`,
      [part, names],
    );
  }

  /** Resolves when nothing runs and nothing is due within an hour. */
  async rest(): Promise<void> {
    for (let quiet = 0; quiet < 3; quiet += 1) {
      const moved = await this.database.query(
        `update source_sync set next_run_at = now() + interval '1 hour'
         where source_id in (select id from source where kind not in ('managed', 'kubernetes'))
           and (next_run_at < now() + interval '30 minutes' or lease_until > now())
         returning source_id`,
      );
      if (moved.length > 0) quiet = -1;
      await new Promise((done) => setTimeout(done, 500));
    }
  }

  async wake(): Promise<void> {
    await this.database.query(
      `update source_sync set next_run_at = now()
       where source_id in (select id from source where kind not in ('managed', 'kubernetes'))`,
    );
  }

  async now(): Promise<Date> {
    const [row] = await this.database.query<{ now: Date }>(`select clock_timestamp() as now`);
    if (!row) throw new Error('The database returned no time');
    return row.now;
  }

  /** The sources of these kinds without a successful run since then; an api source needs a full read. */
  async unread(since: Date, kinds: readonly string[]): Promise<string[]> {
    const rows = await this.database.query<{ name: string }>(
      `select s.name from source s join source_sync y on y.source_id = s.id
       where s.kind = any($3) and (y.status <> 'complete' or y.last_attempt_at <= $1
         or s.kind = 'api' and not (y.fetch_state->'state'->>'roundAt')::float8 > $2)`,
      [since, since.getTime(), kinds],
    );
    return rows.map(({ name }) => name);
  }

  /** Inconsistencies in the tables after everything has been read, one sentence each. */
  async faults(): Promise<string[]> {
    const rows = await this.database.query<{ fault: string }>(
      `select 'no version of ' || e.name as fault from entry e
         where not exists (select 1 from entry_version v where v.entry_id = e.id)
       union all select count(*) || ' latest versions of ' || e.name from entry e
         join entry_version v on v.entry_id = e.id and v.is_latest group by e.id having count(*) <> 1
       union all select 'no latest version of ' || e.name from entry e
         where not exists (select 1 from entry_version v where v.entry_id = e.id and v.is_latest)
       union all select 'a document that is not its version: ' || v.id from entry_version v join entry e on e.id = v.entry_id
         where v.document::jsonb->>'version' <> v.version or v.document::jsonb->>'name' <> e.name
       union all select 'a lease of ' || s.name || ' is left' from source s join source_sync y on y.source_id = s.id
         where s.kind <> 'kubernetes' and (y.lease_owner is not null or y.lease_until is not null)
       union all select s.name || ' is ' || y.status || ': ' || coalesce(y.error, '') || ' ' || y.attempts from source s
         join source_sync y on y.source_id = s.id
         where s.kind <> 'managed' and (y.status <> 'complete' or y.error is not null or y.attempts <> 0)`,
    );
    return rows.map(({ fault }) => fault);
  }

  async claimSets(): Promise<number> {
    return this.count('claim_set');
  }

  async versions(): Promise<number> {
    return this.count('entry_version');
  }

  /** Other connections to this database. */
  async connections(): Promise<number> {
    return this.count(
      `pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`,
    );
  }

  private async count(rows: string): Promise<number> {
    const [row] = await this.database.query<{ n: number }>(`select count(*)::int as n from ${rows}`);
    return row?.n ?? 0;
  }
}
