import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * All tables. The entities in src describe their columns; triggers maintain what a writer could forget.
 *
 * Text that is compared or ordered is `collate "C"`, so that the order of pages does not depend on the
 * database's locale. Kinds, statuses and the like are text with a check constraint, which a later migration
 * can extend without rewriting the table.
 *
 * Of two indexes that cost the same, PostgreSQL uses the one created later: the order of a table's indexes matters.
 */
export class InitialSchema1795802400000 implements MigrationInterface {
  readonly loses = 'all sources, registries and entries, and the audit trail';

  async up(runner: QueryRunner): Promise<void> {
    for (const part of [SOURCES, REGISTRIES, ENTRIES, VERSIONS, AUDIT, ADMISSION, WEBHOOKS, CONTENT])
      await runner.query(part);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      drop table source_folder, content_fetch, version_content, content_file, content_tree, content_chunk, content_blob, webhook_entry,
        webhook_delivery, webhook, known_name, block_change, block, admission_question, admission_decision, admission_item,
        applied_authorization, audit_event, removed_entry, entry_version, entry, registry_source, registry, source_partition,
        source_sync, source, claim_set;
      drop function settle_source_partitions, note_changed_claims, note_document_change`);
  }
}

const SOURCES = `
  create table claim_set (
    id integer generated always as identity primary key,
    claims jsonb not null,
    digest bytea not null unique
  );

  create table source (
    id integer generated always as identity primary key,
    name text collate "C" not null unique,
    kind text not null check (kind in ('file', 'git', 'api', 'managed', 'kubernetes')),
    settings jsonb not null,
    filter jsonb,
    interval_ms bigint,
    claim_set_id integer not null references claim_set,
    origin text not null check (origin in ('config', 'api')),
    revision bigint not null default 0,
    created_at timestamptz(3) not null default now(),
    updated_at timestamptz(3) not null default now(),
    partition_revision bigint not null default 0,
    allow_shrink boolean not null default false,
    given_claims jsonb,
    admission jsonb,
    changed_by bytea
  );
  create unique index source_one_managed on source (kind) where kind = 'managed';

  create table source_sync (
    source_id integer primary key references source on delete cascade,
    status text not null default 'pending' check (status in ('pending', 'syncing', 'complete', 'failed')),
    attempts integer not null default 0,
    last_attempt_at timestamptz(3),
    last_success_at timestamptz(3),
    next_run_at timestamptz(3),
    lease_owner uuid,
    lease_until timestamptz(3),
    error text,
    counts jsonb not null default '{}',
    skipped jsonb not null default '[]',
    requested_at timestamptz(3),
    fetch_state jsonb,
    shrink_allowed_at timestamptz(3),
    format text check (format in ('registry', 'servers', 'marketplace', 'skills'))
  );
  create index source_sync_due on source_sync (next_run_at) where next_run_at is not null;

  -- Which claim sets a source's entries have: every view needs them, and reading all entries would be slow.
  create table source_partition (
    source_id integer not null references source on delete cascade,
    claim_set_id integer not null references claim_set,
    primary key (source_id, claim_set_id)
  );
  create index source_partition_claim_set on source_partition (claim_set_id)`;

const REGISTRIES = `
  create table registry (
    id integer generated always as identity primary key,
    name text collate "C" not null unique,
    claim_set_id integer not null references claim_set,
    origin text not null check (origin in ('config', 'api')),
    position integer not null,
    created_at timestamptz(3) not null default now(),
    updated_at timestamptz(3) not null default now(),
    given_claims jsonb,
    anonymous_claims jsonb,
    keys jsonb not null default '[]',
    publish_claims jsonb,
    marketplace jsonb
  );

  create table registry_source (
    registry_id integer not null references registry on delete cascade,
    position integer not null,
    source_id integer not null references source on delete restrict,
    primary key (registry_id, position),
    unique (registry_id, source_id)
  );
  create index registry_source_source on registry_source (source_id)`;

const ENTRIES = `
  create table entry (
    id bigint generated always as identity primary key,
    source_id integer not null references source on delete cascade,
    type text collate "C" not null check (type in ('server', 'skill', 'plugin')),
    name text collate "C" not null,
    claim_set_id integer not null references claim_set,
    claims_changed_at timestamptz(3),
    given_claims jsonb,
    revision bigint not null default 0,
    unique (source_id, type, name)
  );
  create index entry_claim_set on entry (claim_set_id);
  create index entry_claims_changed on entry (claims_changed_at) where claims_changed_at is not null;
  -- Begins with the claims so that lookups by name cannot use it. Otherwise PostgreSQL, if it has no statistics yet (as in
  -- a source's first sync), considers it as good as the unique index and reads all entries of the source up to the name.
  create index entry_partition on entry (claim_set_id, source_id, type, name);
  create index entry_revision on entry (source_id, revision);

  -- Keeps source_partition exact and counts its changes, for every writer: a view that misses a partition hides entries, and one
  -- that keeps an empty partition grows with every claim set that was ever used.
  --
  -- Locks the sources, so that their writers take turns: if one removes the last entry of a partition and another adds to it, the
  -- second sees the first's change. The settings make it look up types and claim sets in entry_partition, with one plan for all
  -- transactions: the planner prefers a sequential scan for a claim set that it considers common, and planning takes time while the
  -- source is locked.
  create function settle_source_partitions() returns trigger language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan as $$
  declare
    gained_sources int[];
    gained_sets int[];
    lost_sources int[];
    lost_sets int[];
    present int[];
  begin
    if tg_op = 'INSERT' then
      select array_agg(source_id), array_agg(claim_set_id) into gained_sources, gained_sets
      from (select distinct source_id, claim_set_id from after_change) p;
    elsif tg_op = 'DELETE' then
      select array_agg(source_id), array_agg(claim_set_id) into lost_sources, lost_sets
      from (select distinct source_id, claim_set_id from before_change) p;
    else
      -- Rows on both sides have not changed.
      select array_agg(source_id), array_agg(claim_set_id) into gained_sources, gained_sets
      from (select source_id, claim_set_id from after_change except
            select source_id, claim_set_id from before_change) p;
      select array_agg(source_id), array_agg(claim_set_id) into lost_sources, lost_sets
      from (select source_id, claim_set_id from before_change except
            select source_id, claim_set_id from after_change) p;
    end if;
    if gained_sources is null and lost_sources is null then
      return null;
    end if;
    -- Skips sources that are being deleted: all their rows go anyway.
    select array_agg(id) into present from (
      select id from source where id = any(gained_sources || lost_sources) order by id for no key update
    ) s;
    with recursive types as (
      select s.id as source_id, (select min(e.type) from entry e where e.source_id = s.id) as type
      from unnest(present) as s(id)
      union all
      select t.source_id, (select min(e.type) from entry e where e.source_id = t.source_id and e.type > t.type)
      from types t where t.type is not null
    ), gained as (
      insert into source_partition (source_id, claim_set_id)
      select g.source_id, g.claim_set_id from unnest(gained_sources, gained_sets) as g(source_id, claim_set_id)
      where g.source_id = any(present)
      on conflict do nothing
      returning source_id
    ), lost as (
      delete from source_partition p using unnest(lost_sources, lost_sets) as l(source_id, claim_set_id)
      where p.source_id = l.source_id and p.claim_set_id = l.claim_set_id and l.source_id = any(present)
        and (select 1 from types t cross join lateral (
               select 1 from entry e
               where e.source_id = t.source_id and e.type = t.type and e.claim_set_id = l.claim_set_id limit 1
             ) carried where t.source_id = l.source_id limit 1) is null
      returning p.source_id
    )
    update source s set partition_revision = partition_revision + 1
    where s.id in (select source_id from gained union all select source_id from lost);
    return null;
  end $$;
  create trigger entry_partitions_after_insert after insert on entry
    referencing new table as after_change
    for each statement execute function settle_source_partitions();
  create trigger entry_partitions_after_update after update on entry
    referencing old table as before_change new table as after_change
    for each statement execute function settle_source_partitions();
  create trigger entry_partitions_after_delete after delete on entry
    referencing old table as before_change
    for each statement execute function settle_source_partitions();

  -- A change of claims may have made the entry visible to a caller who asks for changes since a time.
  create function note_changed_claims() returns trigger language plpgsql as $$
  begin
    new.claims_changed_at := clock_timestamp();
    return new;
  end $$;
  create trigger entry_claims_changed before update of claim_set_id on entry
    for each row when (old.claim_set_id <> new.claim_set_id) execute function note_changed_claims();

  -- Recently removed entries, for replicas that read only what changed; plugins and skills longer, for clients that have a copy.
  create table removed_entry (
    source_id integer not null references source on delete cascade,
    type text collate "C" not null,
    name text collate "C" not null,
    revision bigint not null,
    removed_at timestamptz(3) not null default now(),
    claims jsonb,
    primary key (source_id, type, name)
  );
  create index removed_entry_revision on removed_entry (source_id, revision)`;

const VERSIONS = `
  create table entry_version (
    id bigint generated always as identity primary key,
    entry_id bigint not null references entry on delete cascade,
    version text collate "C" not null,
    version_key text collate "C" not null,
    document text not null,
    digest bytea not null,
    status text not null check (status in ('active', 'deprecated', 'deleted', 'archived')),
    status_message text,
    status_changed_at timestamptz(3) not null,
    published_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    is_latest boolean not null default false,
    search text not null,
    published_by jsonb,
    document_changed_at timestamptz(3),
    summary json,
    unique (entry_id, version)
  );
  create unique index entry_version_order on entry_version (entry_id, version_key desc);
  create unique index entry_version_latest on entry_version (entry_id) where is_latest;
  create index entry_version_updated on entry_version (updated_at);
  -- Lists of one version or of a rare status start here instead of reading all names.
  create index entry_version_version on entry_version (version);
  create index entry_version_status on entry_version (status) where status <> 'active';

  -- Null while the document is as it was first stored. A status that is written into a document changes its digest too, but not at
  -- the same time as updated_at.
  create function note_document_change() returns trigger language plpgsql as $$
  begin
    new.document_changed_at := case when old.digest is distinct from new.digest then new.updated_at
      else coalesce(old.document_changed_at, old.updated_at) end;
    return new;
  end $$;
  create trigger entry_version_document_change before update on entry_version
    for each row when (old.updated_at is distinct from new.updated_at) execute function note_document_change()`;

const AUDIT = `
  -- Every index ends in the id, which rises with time: inserts append to each, and a list finds its newest events first.
  create table audit_event (
    id uuid primary key,
    time timestamptz(3) not null,
    action text collate "C" not null,
    outcome text collate "C" not null check (outcome in ('allowed', 'refused')),
    actor text collate "C",
    target text collate "C" not null,
    scope jsonb,
    scope_digest bytea,
    dropped integer,
    event json not null,
    actor_name text collate "C",
    transaction bigint default pg_current_xact_id()::text::bigint
  );
  create index audit_event_outcome on audit_event (outcome, id);
  create index audit_event_actor on audit_event (actor, id) where actor is not null;
  create index audit_event_target on audit_event (target, id);
  create index audit_event_action on audit_event (action, id, outcome);
  create index audit_event_actor_name on audit_event (actor_name, id) where actor_name is not null;
  create index audit_event_transaction on audit_event (transaction) where transaction is not null;
  create index audit_event_scope on audit_event (scope_digest, id) where scope_digest is not null;

  -- The configuration that was applied last, to audit its changes.
  create table applied_authorization (
    id integer primary key check (id = 1),
    authorization_form jsonb not null,
    oauth_form jsonb,
    admission_form jsonb
  )`;

const ADMISSION = `
  -- Items that wait for a decision have their own tables, so that no statement that reads the catalog can show them.
  create table admission_item (
    id uuid primary key,
    source_id integer not null references source on delete cascade,
    type text collate "C" not null,
    name text collate "C" not null,
    version text collate "C",
    status text not null check (status in ('held', 'admitted', 'rejected', 'withdrawn')),
    reasons jsonb not null,
    digest bytea not null,
    created_at timestamptz(3) not null default now(),
    first_seen_at timestamptz(3) not null,
    due_at timestamptz(3),
    decided_at timestamptz(3),
    is_approved boolean not null default false,
    claims jsonb,
    publisher jsonb,
    publisher_key bytea,
    change jsonb,
    document text,
    is_rewritten boolean not null default false,
    version_key text collate "C",
    search text,
    version_status text,
    status_message text,
    status_changed_at timestamptz(3),
    published_at timestamptz(3),
    is_upstream_latest boolean not null default false,
    content_tree bytea
  );
  create unique index admission_item_held on admission_item (source_id, type, name, version, digest)
    where status = 'held' and change is null;
  create unique index admission_item_change on admission_item (source_id, type, name)
    where status = 'held' and change is not null;
  create index admission_item_rejected on admission_item (source_id, type, name, version) where status = 'rejected';
  create index admission_item_list on admission_item (status, created_at, id);
  create index admission_item_due on admission_item (due_at) where status = 'held' and due_at is not null;
  create index admission_item_publisher on admission_item (publisher_key) where publisher_key is not null;
  -- Finds the few items held by blocks.
  create index admission_item_blocked on admission_item (source_id, type, name)
    where status = 'held' and change is null and reasons @> '[{"policy": "block"}]';

  create table admission_decision (
    id bigint generated always as identity primary key,
    item_id uuid not null references admission_item on delete cascade,
    decision text not null check (decision in ('approve', 'reject', 'comment', 'withdraw')),
    at timestamptz(3) not null,
    by jsonb,
    by_key bytea,
    comment text
  );
  create index admission_decision_item on admission_decision (item_id);
  -- Each person approves once, even through two replicas at the same time.
  create unique index admission_decision_approver on admission_decision (item_id, by_key) where decision = 'approve';

  -- Questions to admission webhooks about held versions.
  create table admission_question (
    item_id uuid not null references admission_item on delete cascade,
    webhook text collate "C" not null,
    source_id integer not null,
    attempts integer not null default 0,
    ask_at timestamptz(3),
    primary key (item_id, webhook)
  );
  create index admission_question_due on admission_question (webhook, source_id, ask_at) where ask_at is not null;

  create table block (
    id text collate "C" primary key,
    rule jsonb not null,
    created_at timestamptz(3) not null default now(),
    updated_at timestamptz(3) not null default now()
  );

  -- Changed blocks that are in force, but not yet applied to all stored versions.
  create table block_change (
    id uuid primary key,
    block text collate "C" not null,
    created_at timestamptz(3) not null default now()
  );

  create table known_name (
    source_id integer not null references source on delete cascade,
    type text collate "C" not null,
    name text collate "C" not null,
    primary key (source_id, type, name)
  )`;

const WEBHOOKS = `
  -- Transactions do not commit in the order of event IDs, so a webhook's place in the audit trail is a snapshot: the transactions
  -- whose events it has handled.
  create table webhook (
    id integer generated always as identity primary key,
    name text collate "C" not null unique,
    form jsonb not null,
    configured_in bigint not null,
    past text not null,
    since uuid,
    until text,
    after uuid,
    latest uuid,
    generation integer not null default 0,
    behind_since timestamptz(3),
    attempts integer not null default 0,
    failing_since timestamptz(3),
    next_attempt_at timestamptz(3),
    paused_at timestamptz(3),
    last_error text,
    lease_owner uuid,
    lease_until timestamptz(3),
    followed jsonb
  );

  create table webhook_delivery (
    webhook_id integer not null references webhook on delete cascade,
    id text collate "C" not null,
    type text collate "C" not null,
    status text collate "C" not null check (status in ('delivered', 'failed')),
    attempts integer not null,
    at timestamptz(3) not null,
    error text,
    primary key (webhook_id, id)
  );
  create index webhook_delivery_at on webhook_delivery (webhook_id, at, id);

  -- The entries that the receiver knows to be in the view that its webhook follows.
  create table webhook_entry (
    webhook_id integer not null references webhook on delete cascade,
    type text collate "C" not null,
    name text collate "C" not null,
    primary key (webhook_id, type, name)
  )`;

const CONTENT = `
  -- The files of skills and plugins. Identical files and identical trees are stored once.
  create table content_blob (
    digest bytea primary key,
    bytes integer not null
  );

  create table content_chunk (
    blob bytea not null references content_blob on delete cascade,
    position integer not null,
    data bytea not null,
    primary key (blob, position)
  );

  -- What clients find in a tree (members), and the version of the function that read it; searches compare the tokens.
  create table content_tree (
    digest bytea primary key,
    bytes integer not null,
    members jsonb not null,
    plugin_servers jsonb not null,
    member_tokens text[] not null,
    members_version integer not null
  );

  create table content_file (
    tree bytea not null references content_tree on delete cascade,
    path text collate "C" not null,
    blob bytea not null references content_blob,
    is_executable boolean not null,
    primary key (tree, path)
  );
  create index content_file_blob on content_file (blob);

  create table version_content (
    version_id bigint primary key references entry_version on delete cascade,
    tree bytea not null references content_tree
  );
  create index version_content_tree on version_content (tree);

  -- Versions whose content is fetched: served versions, and held ones that wait for content.
  create table content_fetch (
    id bigint generated always as identity primary key,
    version_id bigint unique references entry_version on delete cascade,
    item_id uuid unique references admission_item on delete cascade,
    source_id integer not null,
    packages text,
    pin text,
    attempts integer not null default 0,
    queued_at timestamptz(3) not null default now(),
    fetch_at timestamptz(3),
    error text,
    check (num_nonnulls(version_id, item_id) = 1)
  );
  create index content_fetch_due on content_fetch (source_id, fetch_at) where fetch_at is not null;

  -- Folders of a source's repository whose content is stored, before their versions are.
  create table source_folder (
    source_id integer references source on delete cascade,
    key bytea,
    commit text not null,
    tree bytea references content_tree,
    error text,
    primary key (source_id, key)
  );
  create index source_folder_tree on source_folder (tree) where tree is not null`;
