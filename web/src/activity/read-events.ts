import { api, unwrap } from '../api/client.js';
import type { AuditEvent, AuditQuery } from '../api/types.js';
import type { CursorPage } from '../ui/cursor-list.js';

/** Maximum number of requests sent until one returns an event; each takes the server about a second. */
const MAX_REQUESTS = 10;

/** Reads the next events. A page may be empty before the end, among many events that the user cannot see. */
export async function readEvents(query: AuditQuery, signal?: AbortSignal): Promise<CursorPage<AuditEvent>> {
  let next = query.cursor;
  for (let request = 1; ; request += 1) {
    const params = { query: next === undefined ? query : { ...query, cursor: next } };
    const { events, metadata } = await unwrap(
      api.GET('/v1/audit', { params, ...(signal ? { signal } : {}) }),
    );
    next = metadata.nextCursor;
    if (events.length > 0 || next === undefined || request === MAX_REQUESTS) return { items: events, next };
  }
}
