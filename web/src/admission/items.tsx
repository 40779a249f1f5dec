import type { JSX } from 'preact';
import { api, unwrap } from '../api/client.js';
import type { AdmissionItem, AdmissionQuery, Me } from '../api/types.js';
import type { CursorPage } from '../ui/cursor-list.js';
import { Ago } from '../ui/format.js';
import { UntrustedText } from '../ui/untrusted-text.js';

type ItemStatus = NonNullable<AdmissionQuery['status']>;
type Policy = NonNullable<AdmissionQuery['reason']>;

/** The labels of statuses and policies. */
export const STATUS_LABELS: Readonly<Record<ItemStatus, string>> = {
  held: 'waiting',
  admitted: 'accepted',
  rejected: 'rejected',
  withdrawn: 'withdrawn',
};
const STATUS_TONES: Readonly<Record<ItemStatus, string>> = {
  held: 'warn',
  admitted: 'good',
  rejected: 'bad',
  withdrawn: 'quiet',
};
export const POLICY_LABELS: Readonly<Record<Policy, string>> = {
  review: 'Review',
  minAge: 'Waiting period',
  newNames: 'New name',
  changed: 'Changed document',
  rule: 'Rule',
  content: 'Content missing',
  block: 'Block',
  webhook: 'External check',
};

/** Reads a page of held versions and changes. */
export async function readItems(
  query: AdmissionQuery,
  signal?: AbortSignal,
): Promise<CursorPage<AdmissionItem>> {
  const { items, metadata } = await unwrap(
    api.GET('/v1/admission', { params: { query }, ...(signal ? { signal } : {}) }),
  );
  return { items, next: metadata.nextCursor };
}

type Person = NonNullable<AdmissionItem['publisher']>;

export function isSamePerson(person: Person | null | undefined, me: Me | null): boolean {
  return person != null && person.subject === me?.subject && person.issuer === me.issuer;
}

export function PersonName({ person, me }: { person: Person | null; me: Me | null }): JSX.Element {
  if (isSamePerson(person, me)) return <>you</>;
  return <UntrustedText text={person?.name ?? (person?.subject || 'anonymous')} class="break" />;
}

export function ItemStatusBadge({ status }: { status: string }): JSX.Element {
  const known = status as ItemStatus;
  return <span class={`badge ${STATUS_TONES[known] ?? 'plain'}`}>{STATUS_LABELS[known] ?? status}</span>;
}

/** Why something is held, with one line per reason. */
export function HoldReasons({ reasons }: { reasons: AdmissionItem['reasons'] }): JSX.Element {
  return (
    <ul class="hold-reasons">
      {reasons.map(({ policy, message, dueAt }, index) => (
        <li key={index}>
          <span class="badge plain">{POLICY_LABELS[policy as Policy] ?? policy}</span>{' '}
          <UntrustedText text={message} class="break" />
          {dueAt !== undefined && (
            <span class="muted">
              {' '}
              (ends <Ago at={dueAt} />)
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}
