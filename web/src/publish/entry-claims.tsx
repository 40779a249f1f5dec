import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { answer, answerWithTag, api } from '../api/client.js';
import type { Claims, EntryType, ManagedEntry } from '../api/types.js';
import { useAct } from '../ui/act.js';
import { ClaimChips } from '../ui/claims.js';
import { Refusal } from '../ui/refusal.js';
import { OwnClaims } from './own-claims.js';

interface Props {
  readonly type: EntryType;
  readonly entry: ManagedEntry;
  readonly again: () => void;
}

/** Claims that are being changed, and the tag of those that were there when somebody began. */
interface Draft {
  readonly claims: Claims;
  readonly etag: string | null;
}

/** The claims of a published entry. A change is held to what was there when it began: somebody else may change them meanwhile. */
export function EntryClaims({ type, entry, again }: Props): JSX.Element {
  const path = { type, name: entry.name };
  const [draft, setDraft] = useState<Draft>();
  const begin = useAct(async () => {
    const { value, etag } = await answerWithTag(
      api.GET('/v1/entries/{type}/{name}/claims', { params: { path } }),
    );
    setDraft({ claims: value.claims, etag });
  });
  const save = useAct(async () => {
    if (!draft) return;
    await answer(
      api.PUT('/v1/entries/{type}/{name}/claims', {
        params: { path, header: draft.etag === null ? {} : { 'If-Match': draft.etag } },
        body: { claims: draft.claims as Record<string, string | string[]> },
      }),
    );
    setDraft(undefined);
    again();
  });
  const cancel = () => {
    setDraft(undefined);
    save.forget();
    // What is shown may be older than what was to be changed.
    again();
  };
  return (
    <section>
      <h2>Claims</h2>
      <p>
        <ClaimChips claims={draft?.claims ?? entry.claims} none="none: super-admins only see it" />{' '}
        {!draft && (
          <button type="button" class="small" onClick={begin.run} disabled={begin.isUnderWay}>
            Change
          </button>
        )}
      </p>
      {begin.failure && <Refusal failure={begin.failure} />}
      {draft && (
        <>
          <OwnClaims claims={draft.claims} change={(claims) => setDraft({ ...draft, claims })} />
          {save.failure && <Refusal failure={save.failure} />}
          <p class="buttons form-end">
            <button type="button" class="primary" onClick={save.run} disabled={save.isUnderWay}>
              Save claims
            </button>
            <button type="button" onClick={cancel}>
              Cancel
            </button>
          </p>
        </>
      )}
    </section>
  );
}
