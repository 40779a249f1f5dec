import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { answer, api } from '../api/client.js';
import type { EntryType } from '../api/types.js';
import { useAnswer } from '../api/use-answer.js';
import { ClaimsEditor } from '../forms/claims-editor.js';
import { heldClaims } from '../session/held-claims.js';
import { useSession } from '../session/session.js';
import type { Question } from './question.js';

const ACTIONS = [
  ['see', 'see it'],
  ['manage', 'manage it'],
  ['publish', 'publish there'],
] as const;

export function QuestionForm({
  question,
  ask,
}: {
  question: Question;
  ask: (to: Question) => void;
}): JSX.Element {
  const { me, settings } = useSession();
  const [draft, setDraft] = useState(question);
  const registries = useAnswer('registries', (signal) => answer(api.GET('/registry', { signal })));
  const names = registries.value?.registries.map(({ name }) => name) ?? [];
  const change = (to: Partial<Question>) => setDraft({ ...draft, ...to });
  const [typed, setTyped] = useState(question.registry === '' ? null : question.registry);
  const registry = typed ?? names[0] ?? '';
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        ask({ ...draft, registry, entry: draft.entry.trim() });
      }}
    >
      <div class="field">
        <label for="access-registry">Registry</label>
        <input
          id="access-registry"
          list="access-registries"
          required
          autocomplete="off"
          spellcheck={false}
          value={registry}
          // What is chosen for somebody who is at it would stand before what they type.
          onFocus={() => setTyped(registry)}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        <datalist id="access-registries">
          {names.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </div>
      <div class="field">
        <label for="access-entry">
          Entry <span class="muted">optional</span>
        </label>
        <span class="claims-add">
          <select
            aria-label="Type of the entry"
            value={draft.type}
            onChange={(event) => change({ type: event.currentTarget.value as EntryType })}
          >
            <option value="server">server</option>
            <option value="skill">skill</option>
            <option value="plugin">plugin</option>
          </select>
          <input
            id="access-entry"
            class="wide"
            autocomplete="off"
            spellcheck={false}
            placeholder="its name; empty: the registry itself"
            value={draft.entry}
            onInput={(event) => change({ entry: event.currentTarget.value })}
          />
        </span>
      </div>
      <fieldset class="field">
        <legend class="label">Who</legend>
        <label class="check">
          <input type="radio" name="who" checked={draft.as === null} onChange={() => change({ as: null })} />{' '}
          Myself
        </label>
        <label class="check">
          <input
            type="radio"
            name="who"
            checked={draft.as !== null}
            onChange={() => change({ as: heldClaims(me) })}
          />{' '}
          Somebody with these claims
        </label>
        {draft.as !== null && (
          <ClaimsEditor label="Claim" claims={draft.as} change={(claims) => change({ as: claims })} />
        )}
      </fieldset>
      <div class="field">
        <label for="access-action">May they</label>
        <select
          id="access-action"
          value={draft.action}
          onChange={(event) => change({ action: event.currentTarget.value as Question['action'] })}
        >
          {ACTIONS.map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
      </div>
      {settings.mode === 'anonymous' && <p class="hint muted">Without tokens everybody sees everything.</p>}
      <p class="buttons form-end">
        <button class="primary">Explain</button>
      </p>
    </form>
  );
}
