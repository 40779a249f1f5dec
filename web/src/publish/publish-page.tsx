import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { api, type Failure, failureFrom, unwrap } from '../api/client.js';
import type { Claims, EntryType, PublishBody } from '../api/types.js';
import { ClaimPicker } from '../claims/claims-editor.js';
import { hashOf, type Route } from '../navigation/route.js';
import { useAction } from '../ui/action.js';
import { Refusal } from '../ui/refusal.js';
import { UntrustedText } from '../ui/untrusted-text.js';
import { DocumentEditor, type Problems, problemsOf } from './document-editor.js';
import { parseJson } from './json-lines.js';
import { ManagedEntries } from './managed-entries.js';
import { ManagedEntryPage } from './managed-entry-page.js';

/** `#/publish`, `#/publish/{type}/{name}` */
export function PublishRoutes({ route }: { route: Route }): JSX.Element {
  const [, type, name] = route.path;
  if (type === undefined || name === undefined) return <PublishPage />;
  return <ManagedEntryPage key={`${type} ${name}`} type={type as EntryType} name={name} />;
}

/** Validation starts after this pause in typing. */
const PAUSE_MS = 350;

/** Guesses the type from the document's members; the user can choose another type. */
function guessType(document: unknown): EntryType {
  const has = (key: string) =>
    typeof document === 'object' && document !== null && Object.hasOwn(document, key);
  return has('namespace') ? 'skill' : 'server';
}

interface Checked {
  readonly text: string;
  readonly failure?: Failure;
}

function PublishPage(): JSX.Element {
  const [text, setText] = useState('');
  const [claims, setClaims] = useState<Claims>({});
  const [chosen, setChosen] = useState<EntryType | null>(null);
  const [checked, setChecked] = useState<Checked>();
  const [published, setPublished] = useState<{ type: EntryType; name: string; version: string }>();
  const parsed = text.trim() === '' ? undefined : parseJson(text);
  const type = chosen ?? (parsed && 'value' in parsed ? guessType(parsed.value) : 'server');
  const body = parsed && 'value' in parsed ? bodyOf(type, text, claims) : null;

  useEffect(() => {
    if (body === null) return undefined;
    const controller = new AbortController();
    const timer = setTimeout(() => {
      unwrap(api.POST('/v1/entries/validate', { ...requestOf(body), signal: controller.signal })).then(
        () => setChecked({ text: body }),
        (thrown: unknown) =>
          !controller.signal.aborted && setChecked({ text: body, failure: failureFrom(thrown) }),
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [body]);

  const publish = useAction(async () => {
    if (body === null) return;
    setPublished(await unwrap(api.POST('/v1/entries', requestOf(body))));
    // Keeps text typed while publishing.
    setText((now) => (now === text ? '' : now));
    setChecked(undefined);
  });
  const isChecked = checked !== undefined && checked.text === body;
  const problems = problemsOf(parsed, checked?.failure?.details ?? [], type);
  // A failure applies only to the document and claims it was reported for.
  useEffect(publish.reset, [body]);
  return (
    <>
      <h1>Publish</h1>
      {published && (
        <p class="notice good" role="status">
          Published: <UntrustedText text={`${published.name} ${published.version}`} class="break" />.{' '}
          <a href={hashOf(['publish', published.type, published.name])}>View versions and claims</a>
        </p>
      )}
      <div class="columns">
        <section>
          <div class="page-head tight">
            <h2 id="document-label">Document</h2>
            <label class="choice">
              <span>Type</span>
              <select value={type} onChange={(event) => setChosen(event.currentTarget.value as EntryType)}>
                <option value="server">server</option>
                <option value="skill">skill</option>
                <option value="plugin">plugin</option>
              </select>
            </label>
          </div>
          <DocumentEditor text={text} change={setText} marks={problems.marks} />
          <ValidationResult
            isEmpty={!parsed}
            isChecked={isChecked}
            failure={checked?.failure}
            problems={problems}
          />
        </section>
        <section>
          <h2>Claims</h2>
          <p class="muted">
            Readers must hold all of these claims to see the entry. Later versions keep the claims of the
            first.
          </p>
          <ClaimPicker claims={claims} change={setClaims} />
          <p class="buttons form-end">
            <button
              type="button"
              class="primary"
              onClick={publish.run}
              disabled={body === null || publish.isPending}
            >
              Publish
            </button>
          </p>
          {publish.failure && <Refusal failure={publish.failure} />}
        </section>
      </div>
      <ManagedEntries key={published ? `${published.name} ${published.version}` : ''} />
    </>
  );
}

// Sends the document exactly as typed, without reformatting it.
function bodyOf(type: EntryType, text: string, claims: Claims): string {
  return `{${JSON.stringify(type)}:${text},"claims":${JSON.stringify(claims)}}`;
}

function requestOf(body: string) {
  return {
    body: {} as PublishBody,
    bodySerializer: () => body,
    headers: { 'Content-Type': 'application/json' },
  };
}

interface ValidationResultProps {
  readonly isEmpty: boolean;
  /** Whether the other properties apply to the current text. */
  readonly isChecked: boolean;
  readonly failure: Failure | undefined;
  readonly problems: Problems;
}

/** Result of validating the current text. */
function ValidationResult({ isEmpty, isChecked, failure, problems }: ValidationResultProps): JSX.Element {
  const { marks, others } = problems;
  if (isEmpty)
    return (
      <p class="muted">
        The document is validated as you type. Nothing is published until you press Publish.
      </p>
    );
  if (marks.length > 0)
    return (
      <ul class="problems" role="status" aria-label="Problems">
        {marks.map(({ line, message }, index) => (
          <li key={index}>
            <span class="muted">line {line}</span> <UntrustedText text={message} class="break" />
          </li>
        ))}
        {others.map((detail) => (
          <li key={detail}>
            <UntrustedText text={detail} class="break" />
          </li>
        ))}
      </ul>
    );
  if (!isChecked) return <p class="muted">Checking…</p>;
  if (failure) return <Refusal failure={failure} />;
  return (
    <p class="good-text" role="status">
      Ready to publish.
    </p>
  );
}
