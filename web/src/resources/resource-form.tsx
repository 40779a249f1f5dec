import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Failure } from '../api/client.js';
import { FieldProblems } from '../forms/schema.js';
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
  /** Tries the settings without saving them; problems are shown as they are when saving. */
  readonly test?: ((name: string) => Promise<void>) | undefined;
  /** Renders the fields, which show the API's problems. */
  readonly children: (problems: FieldProblems, name: string) => ComponentChildren;
  /** Shown below the buttons. */
  readonly result?: ComponentChildren;
}

/** The form: a name field when creating, then the given fields, errors and buttons. */
export function ResourceForm(props: FormProps): JSX.Element {
  const { resource, stored, canSave = true, save, test, children, result } = props;
  const [name, setName] = useState(stored ?? '');
  const form = useRef<HTMLFormElement>(null);
  const saving = useAction(async () => {
    await save(name.trim());
    navigate(
      hashOf([resource, name.trim()], stored === null && resource === 'registries' ? { created: 'yes' } : {}),
    );
  });
  const testing = useAction(async () => {
    saving.reset();
    await test?.(name.trim());
  });
  const failure = saving.failure ?? testing.failure;
  const problems = new FieldProblems(failure?.details ?? []);
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus();
  }, [failure]);
  return (
    <form
      ref={form}
      onSubmit={(event) => {
        event.preventDefault();
        testing.reset();
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
      {children(problems, name.trim())}
      {failure && <FormRefusal failure={failure} problems={problems} />}
      <p class="buttons form-end">
        <button class="primary" disabled={saving.isPending || !canSave}>
          {stored === null ? 'Create' : 'Save'}
        </button>
        {test && (
          <button
            type="button"
            disabled={testing.isPending}
            onClick={() => form.current?.reportValidity() && testing.run()}
          >
            {testing.isPending ? 'Testing…' : 'Test'}
          </button>
        )}
        <a class="button" href={stored === null ? `#/${resource}` : hashOf([resource, stored])}>
          Cancel
        </a>
      </p>
      {result}
    </form>
  );
}

/** Comes after the fields, which have claimed their problems by then. */
function FormRefusal({ failure, problems }: { failure: Failure; problems: FieldProblems }): JSX.Element {
  const { code, status, requestId } = failure;
  // The API's sentence repeats the first problem.
  const sentence = code === 'invalid_body' ? 'Some fields need to be corrected' : failure.sentence;
  return <Refusal failure={new Failure(sentence, code, status, requestId, problems.rest())} />;
}
