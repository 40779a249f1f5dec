import { expect } from 'vitest';
import type { Document } from './documents.js';
import type { Reply, Sender } from './http.js';
import { versionsIn } from './matchers.js';
import type { ServiceUnderTest } from './service.js';

export interface Item extends Document {
  id: string;
  source: string;
  type: string;
  name: string;
  version?: string;
  status: string;
  digest: string;
  reasons: { policy: string; message: string; dueAt?: string }[];
  approvals: { required: number; given: number };
  decisions: { decision: string; comment?: string }[];
  dueAt?: string;
}

/** The items that the caller sees. */
export async function itemsFor(sender: Sender, query = ''): Promise<Item[]> {
  const reply = await sender.get(`/v1/admission${query}`);
  expect(reply.status, reply.text).toBe(200);
  return (reply.json as { items: Item[] }).items;
}

/** `name@version: policies`, sorted. */
export function shortly(items: readonly Item[]): string[] {
  return items
    .map(
      ({ name, version, reasons }) => `${name}@${version}: ${reasons.map(({ policy }) => policy).join('+')}`,
    )
    .sort();
}

export function decide(
  sender: Sender,
  item: Pick<Item, 'id' | 'digest'>,
  decision: string,
  more: Document = {},
): Promise<Reply> {
  return sender.post(`/v1/admission/${item.id}/${decision}`, { digest: item.digest, ...more });
}

/** The servers that consumers see, `name@version`. */
export async function served(sender: Sender, registry = 'main'): Promise<string[]> {
  return versionsIn(await sender.get(`/registry/${registry}/v0.1/servers?limit=100`)).sort();
}

const COLUMNS = ['first_seen_at', 'published_at', 'due_at'];

/** Simulates the passage of time for everything held, as if it had been seen and published earlier. */
export async function passTime(
  { database }: Pick<ServiceUnderTest, 'database'>,
  interval: string,
): Promise<void> {
  const set = COLUMNS.map((column) => `${column} = ${column} - $1::interval`).join(', ');
  await database.query(`update admission_item set ${set} where status = 'held'`, [interval]);
}
