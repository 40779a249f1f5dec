import { decodeCursor, encodeCursor } from '../../http/lists.js';
import { Checked, hasShape, Optional, Section } from '../../validation/class-checks.js';
import { type Issue, issue } from '../../validation/problems.js';
import { parseTimestamp, storableText, wholeNumber } from '../../validation/value-checks.js';
import { boundedText } from '../audit-event-limits.js';
import { type AuditListParameters, DEFAULT_EVENTS, MAX_EVENTS } from './audit-list.dto.js';
import type { EventConditions } from './audit-page.queries.js';

/** A list asked for: `limit` events, the newest of those that pass the conditions. */
export interface AuditListRequest {
  readonly conditions: EventConditions;
  readonly limit: number;
}

const LIST = 'audit';
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
/** What the first 48 bits of an id hold. */
const LAST_MS = 2 ** 48 - 1;

class CursorConditions implements EventConditions {
  @Optional() @Checked(storableText) readonly action?: string;
  @Optional() @Checked(storableText) readonly actor?: string;
  @Optional() @Checked(storableText) readonly target?: string;
  @Optional() @Checked(storableText) readonly outcome?: string;
  @Checked(uuid) readonly from: string;
  @Checked(uuid) readonly before: string;
}

/** What a cursor holds: nothing that the events before it do not tell. */
class AuditListCursor {
  @Section(() => CursorConditions) readonly conditions: CursorConditions;
  @Checked(wholeNumber(1, MAX_EVENTS)) readonly limit: number;
}

/**
 * The list that a query asks for. A cursor carries the query: filters sent along with it change nothing.
 *
 * @throws ApiError `invalid_cursor`.
 */
export function auditListRequest(query: AuditListParameters): AuditListRequest {
  const limit = query.limit ? Number(query.limit) : undefined;
  if (query.cursor) {
    const { conditions, limit: before } = decodeCursor(LIST, query.cursor, hasShape(AuditListCursor));
    return { conditions, limit: limit ?? before };
  }
  const { since, until, action, actor, target, outcome } = query;
  const asked = { action, actor, target, outcome };
  const filters = Object.entries(asked).flatMap(([name, value]) =>
    value ? [[name, boundedText(value)]] : [],
  );
  const conditions = {
    ...Object.fromEntries(filters),
    from: since ? firstIdAt(since) : FIRST_ID,
    before: until ? firstIdAt(until) : LAST_ID,
  };
  return { conditions, limit: limit ?? DEFAULT_EVENTS };
}

/** The cursor that goes on with this. */
export function nextCursor({ conditions }: AuditListRequest, limit: number): string {
  return encodeCursor(LIST, { conditions, limit });
}

/** The first id an event of this moment could have: ids begin with the milliseconds since 1970 (RFC 9562 §5.7). */
export function firstIdAt(moment: string): string {
  const ms = Math.min(Math.max(0, parseTimestamp(moment)?.getTime() ?? 0), LAST_MS);
  const hex = ms.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}${FIRST_ID.slice(13)}`;
}

function uuid(value: unknown): Issue[] {
  return typeof value === 'string' && UUID.test(value) ? [] : issue('must be an id');
}
