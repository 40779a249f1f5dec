import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Asked } from '../api/use-answer.js';
import { goTo, hashOf } from '../navigation/route.js';
import { useAct } from '../ui/act.js';
import { Answered } from '../ui/answered.js';
import { Plain } from '../ui/plain.js';
import { Refusal } from '../ui/refusal.js';
import { ToAll } from './declared-head.js';
import { DECLARED, type DeclaredPlace } from './declared-things.js';

interface PageProps<T> {
  readonly place: DeclaredPlace;
  /** Null: it is to be made. */
  readonly name: string | null;
  readonly asked: Asked<T>;
  readonly children: (editable: T) => ComponentChildren;
}

/** Makes or changes a source or registry. */
export function DeclaredFormPage<T>({ place, name, asked, children }: PageProps<T>): JSX.Element {
  return (
    <>
      {name === null ? (
        <ToAll place={place} />
      ) : (
        <p class="trail">
          <a href={hashOf([place, name])}>
            ← <Plain text={name} />
          </a>
        </p>
      )}
      <h1>
        {name === null ? 'New' : 'Edit'} {DECLARED[place].one}
      </h1>
      <Answered asked={asked}>{children}</Answered>
    </>
  );
}

interface FormProps {
  readonly place: DeclaredPlace;
  /** Null: it is to be made, and named. */
  readonly stored: string | null;
  readonly canSave?: boolean;
  readonly save: (name: string) => Promise<void>;
  /** Its fields, with what the API has said of each. */
  readonly children: (details: readonly string[]) => ComponentChildren;
}

/** A name for what is new, its fields, and what the API says when it is saved. */
export function DeclaredForm({ place, stored, canSave = true, save, children }: FormProps): JSX.Element {
  const [name, setName] = useState(stored ?? '');
  const saving = useAct(async () => {
    await save(name.trim());
    goTo(hashOf([place, name.trim()]));
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        saving.run();
      }}
    >
      {stored === null && (
        <div class="field">
          <label for="declared-name">Name</label>
          <input
            id="declared-name"
            aria-describedby="declared-name-hint"
            required
            maxLength={63}
            value={name}
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            onInput={(event) => setName(event.currentTarget.value)}
          />
          <p class="hint" id="declared-name-hint">
            Lower-case letters, digits and hyphens
          </p>
        </div>
      )}
      {children(saving.failure?.details ?? [])}
      {saving.failure && <Refusal failure={saving.failure} />}
      <p class="buttons form-end">
        <button class="primary" disabled={saving.isUnderWay || !canSave}>
          {stored === null ? 'Create' : 'Save'}
        </button>
        <a class="button" href={stored === null ? `#/${place}` : hashOf([place, stored])}>
          Cancel
        </a>
      </p>
    </form>
  );
}
