import { expect } from 'vitest';
import type { Reply, Sender } from './http.js';
import { within } from './within.js';

export interface AuditEvent {
  id: string;
  time: string;
  requestId: string | null;
  action: string;
  outcome: 'allowed' | 'refused';
  code?: string;
  step?: string;
  actor: { subject: string | null; issuer: string | null; name?: string; client?: string; roles: string[] };
  target: { type: string; name: string; version?: string; source?: string; registry?: string };
  change?: { before?: Record<string, unknown>; after?: Record<string, unknown> };
  waiting?: string[];
  sourceIp: string | null;
  dropped?: number;
}

interface EventList {
  events: AuditEvent[];
  metadata: { count: number; nextCursor?: string };
}

/** The events of a page, newest first; the count must match. */
export function eventsIn(reply: Reply): AuditEvent[] {
  expect(reply.status).toBe(200);
  const { events, metadata } = reply.json as EventList;
  expect(metadata.count).toBe(events.length);
  return events;
}

export function auditCursorIn(reply: Reply): string | undefined {
  return (reply.json as EventList).metadata.nextCursor;
}

/** The newest 1,000 audit events a caller sees, newest first. */
export async function auditOf(sender: Sender, query = ''): Promise<AuditEvent[]> {
  const events: AuditEvent[] = [];
  for (let next: string | undefined = query; next !== undefined && events.length < 1_000;) {
    const page: Reply = await sender.get(`/v1/audit?limit=1000${next && `&${next}`}`);
    events.push(...eventsIn(page));
    // A page may be short, or even empty, before the end.
    const cursor = auditCursorIn(page);
    next = cursor === undefined ? undefined : `cursor=${cursor}`;
  }
  return events.slice(0, 1_000);
}

/** Waits for the events of a request: refusals and reads are written in batches. */
export async function eventsOf(sender: Sender, reply: Reply, query = ''): Promise<AuditEvent[]> {
  let events: AuditEvent[] = [];
  await within(20_000, async () => {
    const all = await auditOf(sender, query);
    events = all.filter(({ requestId }) => requestId === reply.headers['x-request-id']);
    expect(events.length).toBeGreaterThan(0);
  });
  return events;
}

/** Resolves when all earlier events are written, by causing a refusal and waiting for its event. */
export async function auditIsWritten(sender: Sender, refused: () => Promise<Reply>): Promise<void> {
  await eventsOf(sender, await refused());
}

/** The events of a complete NDJSON stream, without the blank lines that a server sends while it finds nothing. */
export function linesIn(reply: Reply): AuditEvent[] {
  expect(reply.status).toBe(200);
  expect(reply.headers['content-type']).toBe('application/x-ndjson');
  expect(reply.text).toMatch(/^$|\n$/);
  return reply.text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as AuditEvent);
}
