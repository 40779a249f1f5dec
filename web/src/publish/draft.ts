import { useState } from 'preact/hooks';
import type { Claims, EntryType } from '../api/types.js';
import { useSession } from '../session/session.js';

/** An unpublished document. It survives navigation, logging in and a reload, but not logging out. */
export interface Draft {
  readonly text: string;
  readonly claims: Claims;
  /** Null to guess the type from the document. */
  readonly type: EntryType | null;
}

export const NO_DRAFT: Draft = { text: '', claims: {}, type: null };
/** Key in sessionStorage, which logging out clears. */
const KEY = 'registry.draft';

interface StoredDraft {
  /** Subject of the author: the next person in this tab does not get the draft. */
  readonly owner: string;
  readonly draft: Draft;
}

export function useDraft(): [Draft, (to: Partial<Draft>) => void] {
  const { me } = useSession();
  const owner = me?.subject ?? '';
  const [draft, setDraft] = useState(() => readDraft(owner));
  const change = (to: Partial<Draft>) =>
    setDraft((now) => {
      const next = { ...now, ...to };
      writeDraft({ owner, draft: next });
      return next;
    });
  return [draft, change];
}

function readDraft(owner: string): Draft {
  try {
    const stored = JSON.parse(sessionStorage.getItem(KEY) ?? '') as StoredDraft;
    // If nobody is logged in, the same person's session has expired: logging out would have cleared the storage.
    return owner === '' || stored.owner === '' || stored.owner === owner ? stored.draft : NO_DRAFT;
  } catch {
    return NO_DRAFT;
  }
}

function writeDraft({ owner, draft }: StoredDraft): void {
  try {
    if (draft.text === '') sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, JSON.stringify({ owner: owner || ownerBefore(), draft }));
  } catch {
    // The storage is full or blocked: the draft lasts as long as the page.
  }
}

/** An expired session does not change whose draft it is. */
function ownerBefore(): string {
  try {
    return (JSON.parse(sessionStorage.getItem(KEY) ?? '') as StoredDraft).owner;
  } catch {
    return '';
  }
}
