import type { AuditEvent } from './audit.js';

type Form = Record<string, unknown>;

interface Entry {
  claims: unknown;
  /** The status of each version. */
  readonly versions: Map<string, string>;
}

/** What a sequence of events has led to, by name. */
export interface State {
  readonly sources: Map<string, Form>;
  readonly registries: Map<string, Form>;
  readonly entries: Map<string, Entry>;
}

export function nothing(): State {
  return { sources: new Map(), registries: new Map(), entries: new Map() };
}

/** The state that events lead to, oldest first, from nothing; throws where one does not fit what was before. */
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
      check(isSame(forms.get(name), before), 'it was something else before');
      if (after) forms.set(name, after);
      else forms.delete(name);
      return;
    }
    case 'entry.publish': {
      const { claims, versions } = entry ?? {
        claims: after?.['claims'],
        versions: new Map<string, string>(),
      };
      check(!versions.has(version), 'the version was there');
      check(isSame(claims, after?.['claims']), 'its claims were others');
      entries.set(name, { claims, versions: versions.set(version, String(after?.['status'])) });
      return;
    }
    case 'entry.claims.update':
      check(isSame(entry?.claims, before?.['claims']), 'its claims were others');
      if (entry) entry.claims = after?.['claims'];
      return;
    case 'entry.status':
      for (const one of before?.['versions'] as { version: string; status: string }[]) {
        check(entry?.versions.get(one.version) === one.status, 'its status was another one');
        entry?.versions.set(one.version, String(after?.['status']));
      }
      return;
    case 'entry.delete':
      check(entry?.versions.get(version) === before?.['status'], 'its status was another one');
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
