import type { AuditTarget } from '../audit/audit-event.js';
import type { ViewChange } from '../config/audit-actions.js';
import type { AuditAction } from '../config/audit-actions.js';
import type { TrailEvent } from './webhook-places.queries.js';

/** A delivery (reference/webhooks). */
export interface Message {
  /** The event's ID; for a change to a view, followed by the entry. */
  readonly id: string;
  readonly type: AuditAction | ViewChange;
  readonly target: Pick<AuditTarget, 'type' | 'name' | 'version'>;
  /** The event that caused the message. */
  readonly event: Pick<TrailEvent, 'id' | 'time'>;
  readonly data: object;
}

/** Messages with equal keys are delivered in order. */
export function orderKey({ target }: Message): string {
  return `${target.type}/${target.name}`;
}

/** Returns a copy without these members. */
export function without(value: object, ...members: readonly string[]): object {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !members.includes(name)));
}

/** Returns the message for an event without its client's address. */
export function messageOf(event: TrailEvent): Message {
  return { id: event.id, type: event.action, target: event.target, event, data: without(event, 'sourceIp') };
}

/**
 * Returns a message as a CloudEvent 1.0 in structured JSON mode.
 *
 * @param source The `resourceUrl` of the server; null in anonymous mode, which needs none.
 */
export function cloudEventText({ id, type, target, event, data }: Message, source: string | null): string {
  const version = target.version === undefined ? '' : `@${target.version}`;
  return JSON.stringify({
    specversion: '1.0',
    id,
    source: source ?? '/',
    type,
    subject: `${target.type}/${target.name}${version}`,
    time: event.time,
    datacontenttype: 'application/json',
    data,
  });
}
