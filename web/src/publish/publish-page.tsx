import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { HoldReasons } from '../admission/items.js';
import { api, type Failure, failureFrom, unwrap } from '../api/client.js';
import type { Claims, EntryType, HeldAdmission, PublishBody } from '../api/types.js';
import { ClaimPicker } from '../claims/claims-editor.js';
import { isEntryType } from '../api/entry-types.js';
import { hashOf, replaceHash, type Route } from '../navigation/route.js';
import { EntryTable } from '../resources/entry-table.js';
import { useAction } from '../ui/action.js';
import { EmptyState } from '../ui/query.js';
import { Refusal } from '../ui/refusal.js';
import { UntrustedText } from '../ui/untrusted-text.js';
import { ClaimsMismatch } from './claims-mismatch.js';
import { DocumentEditor, type Problems, problemsOf, selectLine } from './document-editor.js';
import { NO_DRAFT, useDraft } from './draft.js';
import { parseJson } from './json-lines.js';
import { ManagedEntryPage } from './managed-entry-page.js';
import { NewVersion } from './new-version.js';
import { type Published, PublishedNotice } from './published-notice.js';
import { WaitingItems } from './waiting-items.js';

/** `#/publish`, `#/publish?type&name` for a new version, `#/publish/{type}/{name}` */
export function PublishRoutes({ route }: { route: Route }): JSX.Element {
  const [, type, name] = route.path;
  if (type === undefined || name === undefined) return <PublishPage query={route.query} />;
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
  /** Set if the version would be held. */
  readonly admission?: HeldAdmission | undefined;
}

function PublishPage({ query }: { query: URLSearchParams }): JSX.Element {
  const [draft, change] = useDraft();
  const { text, claims } = draft;
  const setClaims = (to: Claims) => change({ claims: to });
  const [checked, setChecked] = useState<Checked>();
  const [published, setPublished] = useState<Published>();
  const parsed = text.trim() === '' ? undefined : parseJson(text);
  const document = parsed && 'value' in parsed ? parsed.value : undefined;
  const type = draft.type ?? guessType(document);
  const body = document === undefined ? null : bodyOf(type, text, claims);
  const newType = query.get('type');
  const newName = query.get('name');

  useEffect(() => {
    if (body === null) return undefined;
    const controller = new AbortController();
    const timer = setTimeout(() => {
      unwrap(api.POST('/v1/entries/validate', { ...requestOf(body), signal: controller.signal })).then(
        (answer) => setChecked({ text: body, admission: (answer as Partial<Published>).admission }),
        (thrown: unknown) =>
          !controller.signal.aborted && setChecked({ text: body, failure: failureFrom(thrown) }),
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [body]);

  const latest = useRef(text);
  latest.current = text;
  const publish = useAction(async () => {
    if (body === null) return;
    setPublished(await unwrap(api.POST('/v1/entries', requestOf(body))));
    // Keeps text typed while publishing.
    if (latest.current === text) change(NO_DRAFT);
    setChecked(undefined);
  });
  const isChecked = checked !== undefined && checked.text === body;
  const known = isChecked ? checked.failure : undefined;
  const claimsFailure = known && aboutClaims(known) ? known : undefined;
  const problems = problemsOf(parsed, checked?.failure?.details ?? [], type);
  // A failure applies only to the document and claims it was reported for.
  useEffect(publish.reset, [body]);
  return (
    <>
      <h1>Publish</h1>
      {published && <PublishedNotice published={published} />}
      {newName !== null && isEntryType(newType) && (
        <NewVersion
          type={newType}
          name={newName}
          hasDraft={text.trim() !== ''}
          done={(to) => {
            if (to) change(to);
            replaceHash('#/publish');
          }}
        />
      )}
      <div class="columns">
        <section>
          <div class="page-head tight">
            <h2 id="document-label">Document</h2>
            <label class="choice">
              <span>Type</span>
              <select
                value={type}
                onChange={(event) => change({ type: event.currentTarget.value as EntryType })}
              >
                <option value="server">server</option>
                <option value="skill">skill</option>
                <option value="plugin">plugin</option>
              </select>
            </label>
          </div>
          <DocumentEditor text={text} change={(to) => change({ text: to })} marks={problems.marks} />
          <ValidationResult isEmpty={!parsed} isChecked={isChecked} checked={checked} problems={problems} />
        </section>
        <section>
          <h2>Claims</h2>
          <p class="muted">
            Readers must hold all of these claims to see the entry. Later versions keep the claims of the
            first.
          </p>
          <ClaimPicker claims={claims} change={setClaims} />
          {claimsFailure &&
            (claimsFailure.code === 'claims_mismatch' ? (
              <ClaimsMismatch
                type={type}
                name={nameIn(type, document)}
                claims={claims}
                use={setClaims}
                failure={claimsFailure}
              />
            ) : (
              <Refusal failure={claimsFailure} />
            ))}
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
          {publish.failure && publish.failure.code !== known?.code && <Refusal failure={publish.failure} />}
        </section>
      </div>
      <WaitingItems
        filter={{ mine: true }}
        refreshKey={published ? `${published.name} ${published.version}` : ''}
      />
      <ManagedEntries key={published ? `${published.name} ${published.version}` : ''} />
    </>
  );
}

/** Published entries that the caller manages. */
function ManagedEntries(): JSX.Element {
  return (
    <section class="published">
      <h2>Published entries you manage</h2>
      <EntryTable
        list="entries"
        read={(query, signal) => unwrap(api.GET('/v1/entries', { params: { query }, signal }))}
        hrefOf={({ type, name }) => hashOf(['publish', type, name])}
        empty={
          <EmptyState title="No entries yet">
            Entries you publish appear here with their versions and claims.
          </EmptyState>
        }
        noClaims="No claims: visible to super-admins only"
      />
    </section>
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

/** The name of the entry that a document belongs to. */
function nameIn(type: EntryType, document: unknown): string {
  const { namespace, name } = (document ?? {}) as Record<string, unknown>;
  return type === 'server' ? String(name) : `${String(namespace)}/${String(name)}`;
}

/** Whether the claims are refused, not the document. */
function aboutClaims({ code }: Failure): boolean {
  return code.startsWith('claims_');
}

interface ValidationResultProps {
  readonly isEmpty: boolean;
  /** Whether the other properties apply to the current text. */
  readonly isChecked: boolean;
  readonly checked: Checked | undefined;
  readonly problems: Problems;
}

/** Result of validating the current text. */
function ValidationResult({ isEmpty, isChecked, checked, problems }: ValidationResultProps): JSX.Element {
  const { marks, others } = problems;
  if (isEmpty)
    return (
      <p class="muted">
        The document is validated as you type. Nothing is published until you press Publish.
      </p>
    );
  if (marks.length > 0)
    return (
      <div role="status">
        <ul class="problems" aria-label="Problems">
          {marks.map(({ line, message }, index) => (
            <li key={index}>
              <button type="button" class="link" onClick={() => selectLine(line)}>
                line {line}
              </button>{' '}
              <UntrustedText text={message} class="break" />
            </li>
          ))}
          {others.map((detail) => (
            <li key={detail}>
              <UntrustedText text={detail} class="break" />
            </li>
          ))}
        </ul>
      </div>
    );
  if (!isChecked) return <p class="muted">Checking…</p>;
  if (checked?.failure)
    return aboutClaims(checked.failure) ? (
      <p class="muted">The document is valid. The claims are not.</p>
    ) : (
      <Refusal failure={checked.failure} />
    );
  return (
    <div role="status">
      <p class="good-text">Ready to publish.</p>
      {checked?.admission && (
        <>
          <p>It will wait for review:</p>
          <HoldReasons reasons={checked.admission.reasons} />
        </>
      )}
    </div>
  );
}
