import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { EntryName, NamesPage } from '../catalog/view-names.queries.js';
import type { WebhookView } from '../config/config.js';

/** Reads and writes which entries the receivers of webhooks know (reference/webhooks). */
@Injectable()
export class KnownEntries {
  constructor(private readonly dataSource: DataSource) {}

  /** Returns the view whose entries the receiver knows; null if there is none yet. */
  async followed(id: number): Promise<WebhookView | null> {
    const [row] = await this.dataSource.query<{ followed: WebhookView | null }[]>(
      `select followed from webhook where id = $1`,
      [id],
    );
    return row?.followed ?? null;
  }

  /** Returns which of these entries the receiver knows. */
  async among(id: number, asked: readonly EntryName[]): Promise<EntryName[]> {
    if (asked.length === 0) return [];
    return this.dataSource.query<EntryName[]>(
      `select type, name from webhook_entry
       where webhook_id = $1 and (type, name) in (select * from unnest($2::text[], $3::text[]))`,
      [id, asked.map(({ type }) => type), asked.map(({ name }) => name)],
    );
  }

  /** Returns the entries after this one that the receiver knows, or the first ones. */
  async after(id: number, after: EntryName | null, limit: number): Promise<NamesPage<EntryName>> {
    const names = await this.dataSource.query<EntryName[]>(
      `select type, name from webhook_entry where webhook_id = $1 and (type, name) > ($2, $3)
       order by type, name limit $4`,
      [id, after?.type ?? '', after?.name ?? '', limit],
    );
    return { names, last: names.length === limit ? (names.at(-1) ?? null) : null };
  }

  /** Records entries that the receiver knows without a message. */
  async learn(id: number, entries: readonly EntryName[]): Promise<void> {
    await learn(this.dataSource.manager, id, entries, []);
  }

  /** Records that the receiver knows the entries of this view, but for differences yet to be sent. */
  async follow(id: number, view: WebhookView): Promise<void> {
    await this.dataSource.query(`update webhook set followed = $2 where id = $1`, [id, JSON.stringify(view)]);
  }

  async forgetAll(id: number): Promise<void> {
    await this.dataSource.query(`delete from webhook_entry where webhook_id = $1`, [id]);
  }
}

/** Changes which entries the receiver knows. */
export async function learn(
  manager: EntityManager,
  id: number,
  added: readonly EntryName[],
  removed: readonly EntryName[],
): Promise<void> {
  const columns = (entries: readonly EntryName[]) => [
    id,
    entries.map(({ type }) => type),
    entries.map(({ name }) => name),
  ];
  if (added.length > 0)
    await manager.query(
      `insert into webhook_entry select $1::int, * from unnest($2::text[], $3::text[]) on conflict do nothing`,
      columns(added),
    );
  if (removed.length > 0)
    await manager.query(
      `delete from webhook_entry where webhook_id = $1 and (type, name) in (select * from unnest($2::text[], $3::text[]))`,
      columns(removed),
    );
}
