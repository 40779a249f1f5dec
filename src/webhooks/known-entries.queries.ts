import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { EntryName } from '../catalog/view-names.queries.js';
import type { WebhookView } from '../config/config.js';

/** Reads and writes which entries the receivers of webhooks know (contract §12). */
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

  /**
   * Returns the entries that the receiver knows.
   *
   * @param asked the entries to look for; null for all.
   */
  async among(id: number, asked: readonly EntryName[] | null): Promise<EntryName[]> {
    const among = asked
      ? 'and (type, name) in (select * from unnest($2::text[], $3::text[]))'
      : 'and $2::text[] is null and $3::text[] is null';
    return this.dataSource.query<EntryName[]>(
      `select type, name from webhook_entry where webhook_id = $1 ${among}`,
      [id, asked?.map(({ type }) => type) ?? null, asked?.map(({ name }) => name) ?? null],
    );
  }

  /** Records the entries that a receiver knows before the first message. */
  async follow(id: number, view: WebhookView, entries: readonly EntryName[]): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      await manager.query(`update webhook set followed = $2 where id = $1`, [id, JSON.stringify(view)]);
      await learn(manager, id, entries, []);
    });
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
