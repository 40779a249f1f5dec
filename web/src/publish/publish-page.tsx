import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { answer, api } from '../api/client.js';
import type { Claims, EntryType, PublishBody } from '../api/types.js';
import { type Failure, failureFrom } from '../api/failure.js';
import { hashOf } from '../navigation/route.js';
import { useAct } from '../ui/act.js';
import { Plain } from '../ui/plain.js';
import { Refusal } from '../ui/refusal.js';
import { DocumentEditor } from './document-editor.js';
import { parseJson } from './json-lines.js';
import { ManagedEntries } from './managed-entries.js';
import { OwnClaims } from './own-claims.js';
import { problemsOf } from './problems.js';
import { Verdict } from './verdict.js';

/** So long a pause in typing is worth a question. */
const PAUSE_MS = 350;

/** A server, unless it says by its members that it is something else. */
function typeOf(document: unknown): EntryType {
  const has = (key: string) =>
    typeof document === 'object' && document !== null && Object.hasOwn(document, key);
  return has('namespace') ? 'skill' : 'server';
}

interface Checked {
  readonly text: string;
  readonly failure?: Failure;
}

export function PublishPage(): JSX.Element {
  const [text, setText] = useState('');
  const [claims, setClaims] = useState<Claims>({});
  const [chosen, setChosen] = useState<EntryType | null>(null);
  const [checked, setChecked] = useState<Checked>();
  const [published, setPublished] = useState<{ type: EntryType; name: string; version: string }>();
  const parsed = text.trim() === '' ? undefined : parseJson(text);
  const type = chosen ?? (parsed && 'value' in parsed ? typeOf(parsed.value) : 'server');
  const question = parsed && 'value' in parsed ? bodyOf(type, text, claims) : null;

  useEffect(() => {
    if (question === null) return undefined;
    const controller = new AbortController();
    const timer = setTimeout(() => {
      answer(api.POST('/v1/entries/validate', { ...raw(question), signal: controller.signal })).then(
        () => setChecked({ text: question }),
        (thrown: unknown) =>
          !controller.signal.aborted && setChecked({ text: question, failure: failureFrom(thrown) }),
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [question]);

  const publish = useAct(async () => {
    if (question === null) return;
    const { type: of, name, version } = await answer(api.POST('/v1/entries', raw(question)));
    setPublished({ type: of, name, version });
    // What was typed meanwhile stays.
    setText((now) => (now === text ? '' : now));
    setChecked(undefined);
  });
  const isChecked = checked !== undefined && checked.text === question;
  const problems = problemsOf(parsed, checked?.failure, type);
  // What was said of another document, or of other claims.
  useEffect(publish.forget, [question]);
  return (
    <>
      <h1>Publish</h1>
      {published && (
        <p class="notice good" role="status">
          Published: <Plain text={`${published.name} ${published.version}`} class="break" />.{' '}
          <a href={hashOf(['publish', published.type, published.name])}>Its versions and claims</a>
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
          <Verdict isEmpty={!parsed} isChecked={isChecked} failure={checked?.failure} problems={problems} />
        </section>
        <section>
          <h2>Claims</h2>
          <p class="muted">
            Pick those that a reader has to hold: whoever holds all of them sees the entry. Later versions
            take those of the first.
          </p>
          <OwnClaims claims={claims} change={setClaims} />
          <p class="buttons form-end">
            <button
              type="button"
              class="primary"
              onClick={publish.run}
              disabled={question === null || publish.isUnderWay}
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

// The document as it was typed: spelling, order and numbers are the publisher's.
function bodyOf(type: EntryType, text: string, claims: Claims): string {
  return `{${JSON.stringify(type)}:${text},"claims":${JSON.stringify(claims)}}`;
}

function raw(body: string) {
  return {
    body: {} as PublishBody,
    bodySerializer: () => body,
    headers: { 'Content-Type': 'application/json' },
  };
}
