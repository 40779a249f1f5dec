import { createHash } from 'node:crypto';
import { canonicalClaims } from '../../../dist/claims/claims.js';
import { keyDigest } from '../../../dist/config/registry-keys.js';
import { versionKey } from '../../../dist/documents/versions.js';
import type { TestDatabase } from '../database.js';
import { aServer, aSkill } from '../documents.js';
import type { Claims, Entry, ModelState } from './model.js';
import { keyOf } from './questions.js';

const BIRTH = Date.parse('2026-01-01T00:00:00Z');

/**
 * Writes states directly into the tables, side by side: names of sources and registries begin with the
 * state's prefix. Ids are never reused, so a service cannot mistake a cached earlier state for a later one.
 */
export class ModelRows {
  private lastId = 0;
  private readonly claimSetIds = new Map<string, number>();

  constructor(private readonly database: TestDatabase) {}

  /** Drops the unique index: each state has a managed source, and a service allows only one. */
  async prepare(): Promise<void> {
    await this.database.query(`drop index source_one_managed`);
  }

  /** Replaces the previous states with these. */
  async replace(states: readonly { prefix: string; state: ModelState }[]): Promise<void> {
    const rows = new Tables();
    // A service may have deleted unreferenced claim sets; it cannot during this transaction.
    this.claimSetIds.clear();
    await this.database.query('begin');
    for (const { prefix, state } of states) await this.collect(rows, prefix, state);
    await this.database.query('delete from registry');
    await this.database.query('delete from source');
    await this.database.query('delete from content_tree');
    for (const [table, { columns, values }] of rows.filled())
      await this.database.query(
        `insert into ${table} (${columns}) ${/^registry_|content/.test(table) ? '' : 'overriding system value'}
         select ${columns} from jsonb_populate_recordset(null::${table}, $1::jsonb)`,
        [JSON.stringify(values)],
      );
    await this.database.query('commit');
  }

  private async collect(rows: Tables, prefix: string, state: ModelState): Promise<void> {
    const sourceIds = new Map<string, number>();
    for (const { name, kind, origin, claims, entries } of state.sources) {
      const id = ++this.lastId;
      sourceIds.set(name, id);
      const isFile = kind === 'file';
      rows.add('source', {
        id,
        name: prefix + name,
        kind,
        settings: isFile ? { path: '/nowhere.json' } : {},
        filter: null,
        interval_ms: isFile ? 3_600_000 : null,
        claim_set_id: await this.claimSetId(claims),
        origin,
        revision: 1,
        created_at: born(id),
        updated_at: born(id),
      });
      rows.add('source_sync', { source_id: id, status: 'complete', attempts: 0, counts: {}, skipped: [] });
      for (const entry of entries) await this.collectEntry(rows, id, name, entry);
    }
    for (const [position, { name, sources, origin, claims, anonymous, key }] of state.registries.entries()) {
      const id = ++this.lastId;
      const claim_set_id = await this.claimSetId(claims);
      const created_at = born(id);
      rows.add('registry', {
        id,
        name: prefix + name,
        claim_set_id,
        origin,
        anonymous_claims: anonymous ?? null,
        keys: key
          ? [{ name: 'own', digest: keyDigest(keyOf(prefix + name)), claims: key, expires: null }]
          : [],
        // Only configured registries have a position; the others are ordered by age.
        position: origin === 'config' ? position : 0,
        created_at,
        updated_at: created_at,
      });
      for (const [at, source] of sources.entries())
        rows.add('registry_source', { registry_id: id, position: at, source_id: sourceIds.get(source) });
    }
  }

  private async collectEntry(rows: Tables, sourceId: number, source: string, entry: Entry): Promise<void> {
    const { type, name, claims, versions } = entry;
    const id = ++this.lastId;
    rows.add('entry', { id, source_id: sourceId, type, name, claim_set_id: await this.claimSetId(claims) });
    const latest = versions.findIndex(({ status }) => status !== 'deleted');
    for (const [index, { version, status }] of versions.entries()) {
      const at = born(id);
      const document = (type === 'server' ? aServer : aSkill)(name, version, { description: source });
      const versionId = ++this.lastId;
      rows.add('entry_version', {
        id: versionId,
        entry_id: id,
        version,
        version_key: versionKey(version, new Date(at)),
        document: JSON.stringify(document),
        digest: '\\x00',
        status,
        status_changed_at: at,
        published_at: at,
        updated_at: at,
        is_latest: index === Math.max(latest, 0),
        search: name,
      });
      if (type === 'server') continue;
      const tree = `\\x${versionId.toString(16).padStart(64, '0')}`;
      const members = { skills: [{ name, description: source }] };
      rows.add('content_tree', {
        digest: tree,
        bytes: 0,
        members,
        plugin_servers: {},
        member_tokens: [],
        members_version: 1_000,
      });
      rows.add('version_content', { version_id: versionId, tree });
    }
  }

  private async claimSetId(claims: Claims): Promise<number> {
    const canonical = canonicalClaims(claims);
    const known = this.claimSetIds.get(canonical);
    if (known !== undefined) return known;
    const [row] = await this.database.query<{ id: number }>(
      `insert into claim_set (claims, digest) values ($1, $2)
       on conflict (digest) do update set digest = excluded.digest returning id`,
      [canonical, createHash('sha256').update(canonical).digest()],
    );
    if (!row) throw new Error('A claim set was not stored');
    this.claimSetIds.set(canonical, row.id);
    return row.id;
  }
}

/** Rows to insert, tables in foreign-key order. */
class Tables {
  private readonly byTable = new Map<string, { columns: string; values: object[] }>();

  constructor() {
    const own = ['source', 'source_sync', 'registry', 'registry_source', 'entry', 'entry_version'];
    for (const table of [...own, 'content_tree', 'version_content'])
      this.byTable.set(table, { columns: '', values: [] });
  }

  add(table: string, row: object): void {
    const values = this.byTable.get(table)?.values ?? [];
    values.push(row);
    this.byTable.set(table, { columns: Object.keys(row).join(', '), values });
  }

  filled() {
    return [...this.byTable].filter(([, { values }]) => values.length > 0);
  }
}

function born(id: number): string {
  return new Date(BIRTH + id * 1000).toISOString();
}
