import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository } from 'typeorm';
import type { NamesPage } from '../catalog/view-names.queries.js';
import type { WebhookView } from '../config/config.js';
import { insertMany } from '../database/bulk.js';
import { Webhook, WebhookEntry } from './webhook.entity.js';
import type { EntryName } from '../documents/entry-types.js';

/** Reads and writes which entries the receivers of webhooks know (reference/webhooks). */
@Injectable()
export class KnownEntries {
  constructor(
    @InjectRepository(Webhook) private readonly webhooks: Repository<Webhook>,
    @InjectRepository(WebhookEntry) private readonly entries: Repository<WebhookEntry>,
  ) {}

  /** Returns the view whose entries the receiver knows; null if there is none yet. */
  async followed(id: number): Promise<WebhookView | null> {
    const webhook = await this.webhooks.findOne({ select: { id: true, followed: true }, where: { id } });
    return webhook?.followed ?? null;
  }

  /** Returns which of these entries the receiver knows. */
  async among(id: number, asked: readonly EntryName[]): Promise<EntryName[]> {
    if (asked.length === 0) return [];
    return this.entries
      .createQueryBuilder('entry')
      .select('entry.type', 'type')
      .addSelect('entry.name', 'name')
      .where({ webhookId: id })
      .andWhere(`(entry.type, entry.name) ${IS_AMONG}`, columnsOf(asked))
      .getRawMany<EntryName>();
  }

  /** Returns the next entries that the receiver knows, after this one or from the beginning. */
  async after(id: number, after: EntryName | null, limit: number): Promise<NamesPage<EntryName>> {
    const names = await this.entries
      .createQueryBuilder('entry')
      .select('entry.type', 'type')
      .addSelect('entry.name', 'name')
      .where({ webhookId: id })
      .andWhere('(entry.type, entry.name) > (:type, :name)', {
        type: after?.type ?? '',
        name: after?.name ?? '',
      })
      .orderBy({ 'entry.type': 'ASC', 'entry.name': 'ASC' })
      .limit(limit)
      .getRawMany<EntryName>();
    return { names, last: names.length === limit ? (names.at(-1) ?? null) : null };
  }

  /** Records entries as known without sending a message. */
  async learn(id: number, entries: readonly EntryName[]): Promise<void> {
    await learn(this.entries.manager, id, entries, []);
  }

  /** Records the entries of this view as known, except those with differences still to be sent. */
  async follow(id: number, view: WebhookView): Promise<void> {
    await this.webhooks.update({ id }, { followed: view });
  }

  async forgetAll(id: number): Promise<void> {
    await this.entries.delete({ webhookId: id });
  }
}

/** Changes which entries the receiver knows. */
export async function learn(
  manager: EntityManager,
  id: number,
  added: readonly EntryName[],
  removed: readonly EntryName[],
): Promise<void> {
  await insertMany(
    manager,
    WebhookEntry,
    added.map(({ type, name }) => ({ webhookId: id, type, name })),
    'on conflict do nothing',
  );
  if (removed.length > 0)
    await manager
      .createQueryBuilder()
      .delete()
      .from(WebhookEntry)
      .where({ webhookId: id })
      .andWhere(`(type, name) ${IS_AMONG}`, columnsOf(removed))
      .execute();
}

/** SQL: whether a type and a name are among those of `columnsOf`. */
const IS_AMONG = 'in (select * from unnest(:types::text[], :names::text[]))';

function columnsOf(entries: readonly EntryName[]) {
  return { types: entries.map(({ type }) => type), names: entries.map(({ name }) => name) };
}
