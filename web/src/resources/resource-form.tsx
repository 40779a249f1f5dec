import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { hashOf, navigate } from '../navigation/route.js';
import { useAction } from '../ui/action.js';
import { type Query, QueryResult } from '../ui/query.js';
import { Refusal } from '../ui/refusal.js';
import { UntrustedText } from '../ui/untrusted-text.js';
import { BackToList, RESOURCES, type ResourceType } from './resource-pages.js';

interface PageProps<T> {
  readonly resource: ResourceType;
  /** Null for a new source or registry. */
  readonly name: string | null;
  readonly query: Query<T>;
  readonly children: (editable: T) => ComponentChildren;
}

/** Frame of the form that creates or edits a source or registry. */
export function ResourceFormPage<T>({ resource, name, query, children }: PageProps<T>): JSX.Element {
  return (
    <>
      {name === null ? (
        <BackToList resource={resource} />
      ) : (
        <p class="trail">
          <a href={hashOf([resource, name])}>
            ← <UntrustedText text={name} />
          </a>
        </p>
      )}
      <h1>
        {name === null ? 'New' : 'Edit'} {RESOURCES[resource].one}
      </h1>
      <QueryResult query={query}>{children}</QueryResult>
    </>
  );
}

interface FormProps {
  readonly resource: ResourceType;
  /** Name of the edited source or registry; null for a new one. */
  readonly stored: string | null;
  readonly canSave?: boolean;
  readonly save: (name: string) => Promise<void>;
  /** Renders the fields with the API's error details. */
  readonly children: (details: readonly string[]) => ComponentChildren;
}

/** The form: a name field when creating, then the given fields, errors and buttons. */
export function ResourceForm({ resource, stored, canSave = true, save, children }: FormProps): JSX.Element {
  const [name, setName] = useState(stored ?? '');
  const saving = useAction(async () => {
    await save(name.trim());
    navigate(hashOf([resource, name.trim()]));
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
          <label for="resource-name">Name</label>
          <input
            id="resource-name"
            aria-describedby="resource-name-hint"
            required
            maxLength={63}
            value={name}
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            onInput={(event) => setName(event.currentTarget.value)}
          />
          <p class="hint" id="resource-name-hint">
            Lowercase letters, digits and hyphens
          </p>
        </div>
      )}
      {children(saving.failure?.details ?? [])}
      {saving.failure && <Refusal failure={saving.failure} />}
      <p class="buttons form-end">
        <button class="primary" disabled={saving.isPending || !canSave}>
          {stored === null ? 'Create' : 'Save'}
        </button>
        <a class="button" href={stored === null ? `#/${resource}` : hashOf([resource, stored])}>
          Cancel
        </a>
      </p>
    </form>
  );
}
