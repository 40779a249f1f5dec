import { createHash } from 'node:crypto';
import type { Caller } from '../auth/caller.js';
import type { AuditAction, Role } from '../auth/route.js';
import { canonicalClaims, type Claims } from '../claims/claims.js';
import type { EntryType } from '../documents/entry-types.js';
import type { RequestContext } from '../http/request-context.js';

/** Characters of a text that a caller chose: names of subjects, clients, entries, versions. */
const MAX_TEXT = 255;
/** Characters of what was there before a change, and after it, each. */
const MAX_STATE = 16_384;
/** Characters of the claims that decide who sees an event; with more, super-admins alone do. */
export const MAX_SCOPE = 16_384;

// PostgreSQL's jsonb takes neither NUL nor half a surrogate pair.
const UNSTORABLE = /\0|\p{Surrogate}/gu;

/** A text that PostgreSQL takes, cut where it is too long. */
export function boundedText(text: string): string {
  const storable = text.slice(0, MAX_TEXT).replaceAll(UNSTORABLE, '\uFFFD');
  return text.length > MAX_TEXT ? `${storable}…` : storable;
}

/** What there was before a change, or after it: whole, or by its digest, since claims of which a part is missing would say something else. */
export function boundedState(state: object): object {
  const text = JSON.stringify(state);
  if (text.length <= MAX_STATE) return state;
  return { tooLarge: { characters: text.length, sha256: createHash('sha256').update(text).digest('hex') } };
}

/** How many characters the claims have, or more than may be kept; looks at no more than that. */
export function sizeOf(all: readonly Claims[]): number {
  let size = 0;
  for (const claims of all)
    for (const [key, value] of Object.entries(claims)) {
      size += key.length;
      for (const one of [value].flat()) size += one.length;
      if (size > MAX_SCOPE) return size;
    }
  return size;
}

const DIGEST_BYTES = 16;

/** Who did it (contract §9). */
export interface AuditActor {
  readonly subject: string | null;
  readonly issuer: string | null;
  readonly client?: string;
  /** The name of the registry's key that they came with. */
  readonly key?: string;
  readonly roles: readonly string[];
}

export type AuditTargetType = 'source' | 'registry' | 'configuration' | 'route' | EntryType;

/** What it was done to (contract §9). */
export interface AuditTarget {
  readonly type: AuditTargetType;
  readonly name: string;
  readonly version?: string;
  readonly source?: string;
  readonly registry?: string;
}

/** What there was before a change, and after it: absent where there was nothing. */
export interface AuditChange {
  readonly before?: object;
  readonly after?: object;
}

/** Which managers may know of an event: those who reach all of these claims in this role. */
export interface AuditScope {
  readonly role: Role;
  readonly claims: readonly Claims[];
}

/** What happened, as it is on its way into the table. */
export interface AuditEvent {
  readonly action: AuditAction;
  readonly outcome: 'allowed' | 'refused';
  readonly code?: string;
  /** Which rule decided. */
  readonly step?: string;
  readonly actor: AuditActor;
  readonly target: AuditTarget;
  readonly change?: AuditChange;
  /** Null where no request led to it. */
  readonly context: RequestContext | null;
  /** Null: for super-admins alone. */
  readonly scope: AuditScope | null;
}

/** What the server does by itself: when it syncs, and when it follows its configuration. */
export const SYNC_ACTOR: AuditActor = { subject: 'sync', issuer: null, roles: [] };
export const CONFIGURATION_ACTOR: AuditActor = { subject: 'configuration', issuer: null, roles: [] };

/** Who published a version (contract §9). */
export interface Publisher {
  readonly subject: string | null;
  readonly issuer: string | null;
  readonly client?: string;
}

/** @param caller undefined: nobody that is known. */
export function actorOf(caller: Caller | undefined, roles: readonly string[]): AuditActor {
  const issuer = caller?.claims['iss'];
  return {
    subject: caller?.subject == null ? null : boundedText(caller.subject),
    issuer: typeof issuer === 'string' ? boundedText(issuer) : null,
    ...(caller?.client === undefined ? {} : { client: boundedText(caller.client) }),
    ...(caller?.key === undefined ? {} : { key: boundedText(caller.key) }),
    roles,
  };
}

/** Null where callers are not identified. */
export function publisherOf(caller: Caller): Publisher | null {
  if (!caller.identified) return null;
  const { subject, issuer, client } = actorOf(caller, []);
  return { subject, issuer, ...(client === undefined ? {} : { client }) };
}

/** A scope that may be kept: null when its claims are too large, so that an event never shows more than it may. */
export function boundedScope(role: Role, claims: readonly Claims[]): AuditScope | null {
  return sizeOf(claims) > MAX_SCOPE ? null : { role, claims };
}

/** A scope as it is stored: equal for equal claims, whatever their order. */
export function storedScope({ role, claims }: AuditScope): {
  readonly scope: string;
  readonly digest: Buffer;
} {
  const canonical = [...new Set(claims.map((one) => canonicalClaims(one)))].sort();
  const scope = `{"role":${JSON.stringify(role)},"claims":[${canonical.join(',')}]}`;
  return { scope, digest: createHash('sha256').update(scope).digest().subarray(0, DIGEST_BYTES) };
}

/** The event as it is shown and logged (contract §9), without `id` and `time`, which the database gives it. */
export function eventText({ context, target, change, ...event }: AuditEvent): string {
  const { action, outcome, code, step, actor } = event;
  return JSON.stringify({
    requestId: context?.requestId ?? null,
    traceId: context?.traceId,
    action,
    outcome,
    code,
    step,
    actor,
    target: boundedTarget(target),
    change: change && {
      before: change.before && boundedState(change.before),
      after: change.after && boundedState(change.after),
    },
    sourceIp: context?.sourceIp ?? null,
  });
}

export function boundedTarget({ type, name, version, source, registry }: AuditTarget): AuditTarget {
  return {
    type,
    name: boundedText(name),
    ...(version === undefined ? {} : { version: boundedText(version) }),
    ...(source === undefined ? {} : { source: boundedText(source) }),
    ...(registry === undefined ? {} : { registry: boundedText(registry) }),
  };
}
