import { createHash } from 'node:crypto';
import { type Caller, identityOf } from '../auth/caller.js';
import type { AuditAction, Role } from '../auth/route.js';
import { canonicalClaims, type Claims } from '../claims/claims.js';
import type { EntryType } from '../documents/entry-types.js';
import type { TokenRefusal } from '../http/errors.js';
import type { RequestContext } from '../http/request-context.js';
import { type StorableText, toStorable } from '../validation/storable-text.js';

/** Maximum length of a text sent by a caller, such as a subject or an entry name. */
const MAX_TEXT = 255;
/** Maximum number of characters in the state before a change, and in the state after it. */
const MAX_STATE = 16_384;
/** Maximum number of characters in the claims of a scope; if they are longer, only super-admins see the event. */
const MAX_SCOPE = 16_384;

/** Makes a text storable and truncates it to MAX_TEXT characters. */
export function boundedText(text: string): StorableText {
  return toStorable(text.length > MAX_TEXT ? `${toStorable(text, MAX_TEXT)}…` : text);
}

/** Replaces a large state with its digest, because truncated claims would have a different meaning. */
function boundedState(state: object): object {
  const text = JSON.stringify(state);
  if (text.length <= MAX_STATE) return state;
  return { tooLarge: { characters: text.length, sha256: createHash('sha256').update(text).digest('hex') } };
}

/** Counts the characters in the claims, and stops counting once the count exceeds MAX_SCOPE. */
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

/** The caller who caused an event (reference/audit). */
export interface AuditActor {
  readonly subject: StorableText | null;
  readonly issuer: StorableText | null;
  /** The name to show to people: the provider's `displayName`. */
  readonly name?: StorableText;
  readonly client?: StorableText;
  /** The name of the registry key that the caller used. */
  readonly key?: StorableText;
  readonly roles: readonly string[];
}

type AuditTargetType = 'source' | 'registry' | 'block' | 'webhook' | 'configuration' | 'route' | EntryType;

/** The resource that an event is about (reference/audit). */
export interface AuditTarget {
  readonly type: AuditTargetType;
  readonly name: string;
  readonly version?: string;
  readonly source?: string;
  readonly registry?: string;
}

/** The state before and after a change; absent if the resource did not exist. */
export interface AuditChange {
  readonly before?: object;
  readonly after?: object;
}

/** Which managers see an event: every manager with this role who covers all of these claims. */
export interface AuditScope {
  readonly role: Role;
  readonly claims: readonly Claims[];
}

export interface AuditEvent {
  readonly action: AuditAction;
  readonly outcome: 'allowed' | 'refused';
  readonly code?: string;
  /** The rule that decided the outcome. */
  readonly step?: string;
  readonly actor: AuditActor;
  readonly target: AuditTarget;
  readonly change?: AuditChange;
  /** Paths of changed settings that take effect after a restart (reference/audit). */
  readonly waiting?: readonly string[] | undefined;
  /** Why the token was refused; super-admins only. */
  readonly token?: TokenRefusal | undefined;
  /** Null for events without a request. */
  readonly context: RequestContext | null;
  /** Null if only super-admins see the event. */
  readonly scope: AuditScope | null;
}

/** Actors of changes made without a request. */
export const SYNC_ACTOR: AuditActor = { subject: boundedText('sync'), issuer: null, roles: [] };
/** Admission webhooks, which decide on held versions. */
export const ADMISSION_ACTOR: AuditActor = { subject: boundedText('admission'), issuer: null, roles: [] };
/** The component that fetches the content of packages. */
export const CONTENT_ACTOR: AuditActor = { subject: boundedText('content'), issuer: null, roles: [] };
export const CONFIGURATION_ACTOR: AuditActor = {
  subject: boundedText('configuration'),
  issuer: null,
  roles: [],
};

/** The caller who published a version (reference/audit). */
export type Publisher = Pick<AuditActor, 'subject' | 'issuer' | 'name' | 'client'>;

/** @param caller undefined if the caller was not identified. */
export function actorOf(caller: Caller | undefined, roles: readonly string[]): AuditActor {
  const { issuer = null, subject = null } = (caller && identityOf(caller)) ?? {};
  return {
    // These values are never shortened, because they identify the caller.
    subject: subject === null ? null : toStorable(subject),
    issuer: issuer === null ? null : toStorable(issuer),
    ...(caller?.name === undefined ? {} : { name: boundedText(caller.name) }),
    ...(caller?.client === undefined ? {} : { client: boundedText(caller.client) }),
    ...(caller?.key === undefined ? {} : { key: boundedText(caller.key) }),
    roles,
  };
}

/** Returns null for unidentified callers. */
export function publisherOf(caller: Caller): Publisher | null {
  if (!caller.identified) return null;
  const { subject, issuer, name, client } = actorOf(caller, []);
  return {
    subject,
    issuer,
    ...(name === undefined ? {} : { name }),
    ...(client === undefined ? {} : { client }),
  };
}

/** Returns null if the claims are too large to store; only super-admins then see the event. */
export function boundedScope(role: Role, claims: readonly Claims[]): AuditScope | null {
  return sizeOf(claims) > MAX_SCOPE ? null : { role, claims };
}

/** Returns the stored form of a scope. The same claims in any order yield the same text and digest. */
export function storedScope({ role, claims }: AuditScope): {
  readonly scope: string;
  readonly digest: Buffer;
} {
  const canonical = [...new Set(claims.map((one) => canonicalClaims(one)))].sort();
  const scope = `{"role":${JSON.stringify(role)},"claims":[${canonical.join(',')}]}`;
  return { scope, digest: createHash('sha256').update(scope).digest().subarray(0, DIGEST_BYTES) };
}

/** Returns the event as JSON (reference/audit), without `id` and `time`, which the database adds. */
export function eventText({ context, target, change, waiting, token, ...event }: AuditEvent): string {
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
    attempts: token?.attempts,
    claimed: token?.claimed,
    change: change && {
      before: change.before && boundedState(change.before),
      after: change.after && boundedState(change.after),
    },
    waiting,
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
