import type { AuditEvent } from './audit.js';

type Form = Record<string, unknown>;

interface Entry {
  claims: unknown;
  /** The status of each version. */
  readonly versions: Map<string, string>;
}

/** The state that results from a sequence of events, by name. */
export interface State {
  readonly sources: Map<string, Form>;
  readonly registries: Map<string, Form>;
  readonly entries: Map<string, Entry>;
}

export function nothing(): State {
  return { sources: new Map(), registries: new Map(), entries: new Map() };
}

/** Replays events, oldest first, from an empty state; throws when one contradicts the state before it. */
export function replayed(events: readonly AuditEvent[]): State {
  const state = nothing();
  for (const event of events) if (event.outcome === 'allowed') apply(state, event);
  return state;
}

function apply(
  { sources, registries, entries }: State,
  { action, target, change = {}, id }: AuditEvent,
): void {
  const { before, after } = change;
  const { type, name } = target;
  const version = String(target.version);
  const entry = entries.get(name);
  const check = (isRight: boolean, why: string) => {
    if (!isRight) throw new Error(`${id}: ${action} of ${type} ${name}: ${why}`);
  };
  switch (action) {
    case 'source.create':
    case 'source.update':
    case 'source.delete':
    case 'registry.create':
    case 'registry.update':
    case 'registry.delete': {
      const forms = type === 'source' ? sources : registries;
      check(isSame(forms.get(name), before), 'the state before differs');
      if (after) forms.set(name, after);
      else forms.delete(name);
      return;
    }
    case 'entry.publish': {
      const { claims, versions } = entry ?? {
        claims: after?.['claims'],
        versions: new Map<string, string>(),
      };
      check(!versions.has(version), 'the version existed');
      check(isSame(claims, after?.['claims']), 'the claims before differ');
      entries.set(name, { claims, versions: versions.set(version, String(after?.['status'])) });
      return;
    }
    case 'entry.claims.update':
      check(isSame(entry?.claims, before?.['claims']), 'the claims before differ');
      if (entry) entry.claims = after?.['claims'];
      return;
    case 'entry.status':
      for (const one of (before?.['versions'] ?? []) as { version: string; status: string }[]) {
        check(entry?.versions.get(one.version) === one.status, 'the status before differs');
        entry?.versions.set(one.version, String(after?.['status']));
      }
      return;
    case 'entry.delete':
      check(entry?.versions.get(version) === before?.['status'], 'the status before differs');
      entry?.versions.delete(version);
      if (entry?.versions.size === 0) entries.delete(name);
      return;
  }
}

function isSame(one: unknown, other: unknown): boolean {
  return canonical(one) === canonical(other);
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort())
      : member,
  );
}
