import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { answer, api } from '../api/client.js';
import type { Claims, EntryType, PublishBody } from '../api/types.js';
import { type Failure, failureFrom } from '../api/failure.js';
import { hashOf } from '../navigation/route.js';
import { useAct } from '../ui/act.js';
import { Plain } from '../ui/plain.js';
import { Refusal } from '../ui/refusal.js';
import { DocumentEditor, type Mark } from './document-editor.js';
import { type Lines, lineOf, parseJson } from './json-lines.js';
import { ManagedEntries } from './managed-entries.js';
import { OwnClaims } from './own-claims.js';

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
    setText('');
    setChecked(undefined);
  });
  const isChecked = checked !== undefined && checked.text === question;
  const marks = marksOf(parsed, checked?.failure, type);
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
          <DocumentEditor text={text} change={setText} marks={marks} />
          <Verdict parsed={parsed} isChecked={isChecked} failure={checked?.failure} marks={marks} />
        </section>
        <section>
          <h2>Claims</h2>
          <p class="muted">Who holds all of them sees the entry. Later versions take those of the first.</p>
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

function marksOf(
  parsed: ReturnType<typeof parseJson> | undefined,
  failure: Failure | undefined,
  type: EntryType,
): Mark[] {
  if (!parsed) return [];
  if (!('value' in parsed)) return [{ line: parsed.line, message: parsed.message }];
  const { lines } = parsed;
  return (failure?.details ?? []).flatMap((detail) => markOf(lines, detail, type));
}

/** `server.remotes[0].url: is required` → the line of `remotes[0]`. */
function markOf(lines: Lines, detail: string, type: EntryType): Mark[] {
  const [, path, message] = /^([\w$.[\]/-]+?): (.*)$/s.exec(detail) ?? [];
  if (path === undefined || message === undefined || !path.startsWith(type)) return [];
  const inside = path.slice(type.length).replace(/^\./, '');
  return [
    {
      line: lineOf(lines, inside),
      message: inside === '' ? message : `${inside.split('.').at(-1) ?? ''} ${message}`,
    },
  ];
}

interface VerdictProps {
  readonly parsed: ReturnType<typeof parseJson> | undefined;
  readonly isChecked: boolean;
  readonly failure: Failure | undefined;
  readonly marks: readonly Mark[];
}

function Verdict({ parsed, isChecked, failure, marks }: VerdictProps): JSX.Element {
  if (!parsed)
    return <p class="muted">It is checked while you type; nothing is published before you say so.</p>;
  if (!('value' in parsed) || marks.length > 0)
    return (
      <ul class="problems" role="status" aria-label="Problems">
        {marks.map(({ line, message }, place) => (
          <li key={place}>
            <span class="muted">line {line}</span> <Plain text={message} class="break" />
          </li>
        ))}
      </ul>
    );
  if (!isChecked) return <p class="muted">Checking…</p>;
  if (failure) return <Refusal failure={failure} />;
  return (
    <p class="good-text" role="status">
      It could be published.
    </p>
  );
}
