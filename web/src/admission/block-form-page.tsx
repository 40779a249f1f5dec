import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { api, unwrap } from '../api/client.js';
import { ENTRY_TYPES } from '../api/entry-types.js';
import type { BlockBody, EntryType } from '../api/types.js';
import { problemsAt } from '../forms/schema.js';
import { navigate } from '../navigation/route.js';
import { useAction } from '../ui/action.js';
import { pluralize } from '../ui/format.js';
import { Refusal } from '../ui/refusal.js';
import { UntrustedText } from '../ui/untrusted-text.js';

const TEXTS = [
  ['names', 'Names', 'One per line. * stands for any text, as in io.github.evil/*.'],
  [
    'packages',
    'Packages',
    'One per line: type, identifier and, optionally, versions, as in npm left-pad >=1.3.1 <1.3.4.',
  ],
  ['remotes', 'Remote URLs', 'One per line, as in https://evil.example/*.'],
  ['digests', 'Digests of documents', 'SHA-256, one per line.'],
] as const;

type Texts = Readonly<Record<(typeof TEXTS)[number][0] | 'id' | 'versions' | 'reason', string>>;

/** `#/review/blocks/+new`: counts the versions that a block would hold before it is created. */
export function BlockFormPage({ query }: { query: URLSearchParams }): JSX.Element {
  const [texts, setTexts] = useState<Texts>({
    id: '',
    names: query.get('names') ?? '',
    packages: '',
    remotes: '',
    digests: '',
    versions: '',
    reason: '',
  });
  const [types, setTypes] = useState<readonly EntryType[]>([]);
  const [preview, setPreview] = useState<{ readonly of: string; readonly matches: number }>();
  const body = bodyOf(texts, types);
  const key = JSON.stringify(body);
  const count = useAction(async () => {
    const { matches } = await unwrap(api.POST('/v1/blocks/preview', { body }));
    setPreview({ of: key, matches });
  });
  const create = useAction(async () => {
    const params = { path: { id: texts.id.trim() }, header: { 'If-None-Match': '*' as const } };
    await unwrap(api.PUT('/v1/blocks/{id}', { params, body }));
    navigate('#/review/blocks');
  });
  const failure = create.failure ?? count.failure;
  const details = failure?.details ?? [];
  const isCounted = preview?.of === key;
  const change = (to: Partial<Texts>) => {
    setTexts({ ...texts, ...to });
    create.reset();
    count.reset();
  };
  const isFieldProblem = details.some((line) =>
    /^(names|packages|remotes|digests|versions|reason)\b/.test(line),
  );
  return (
    <>
      <p class="trail">
        <a href="#/review/blocks">← Blocks</a>
      </p>
      <h1>New block</h1>
      <p class="muted">
        A version is blocked if it matches a value in every field that you fill in. It disappears from every
        registry and cannot be published.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isCounted) create.run();
          else count.run();
        }}
      >
        <TextField
          id="id"
          label="Id"
          hint="Lowercase letters, digits and hyphens, for example sec-14."
          isRequired
          value={texts.id}
          problems={[]}
          change={(id) => change({ id })}
        />
        {TEXTS.map(([name, label, hint]) => (
          <TextField
            key={name}
            id={name}
            label={label}
            hint={hint}
            isList
            value={texts[name]}
            problems={name === 'packages' ? packageProblems(details) : problemsAt(details, name)}
            change={(to) => change({ [name]: to })}
          />
        ))}
        <TextField
          id="versions"
          label="Versions"
          hint="An npm range, as in >=1.2 <2. Leave it empty for all versions."
          value={texts.versions}
          problems={problemsAt(details, 'versions')}
          change={(versions) => change({ versions })}
        />
        <fieldset class="field">
          <legend class="label">
            Types <span class="muted">optional</span>
          </legend>
          {ENTRY_TYPES.map((type) => (
            <label class="check" key={type}>
              <input
                type="checkbox"
                checked={types.includes(type)}
                onChange={() =>
                  setTypes(types.includes(type) ? types.filter((each) => each !== type) : [...types, type])
                }
              />{' '}
              {type}
            </label>
          ))}
        </fieldset>
        <TextField
          id="reason"
          label="Reason"
          hint="Shown to people who publish a blocked version, and to people who manage or review it. Readers do not see it."
          isRequired
          value={texts.reason}
          problems={problemsAt(details, 'reason')}
          change={(reason) => change({ reason })}
        />
        {failure && !isFieldProblem && <Refusal failure={failure} />}
        {failure && isFieldProblem && (
          <p class="bad-text below" role="alert">
            The marked fields need a correction.
          </p>
        )}
        {isCounted && (
          <p class="notice" role="status">
            {preview.matches === 0
              ? 'No current version matches. Later ones will be blocked.'
              : `This block withdraws ${pluralize(preview.matches, 'current version')}.`}
          </p>
        )}
        <p class="buttons form-end">
          {isCounted ? (
            <button class="danger primary" disabled={create.isPending}>
              Create block
            </button>
          ) : (
            <button class="primary" disabled={count.isPending}>
              Preview
            </button>
          )}
          <a class="button" href="#/review/blocks">
            Cancel
          </a>
        </p>
      </form>
    </>
  );
}

interface TextFieldProps {
  readonly id: string;
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly problems: readonly string[];
  readonly isRequired?: boolean;
  readonly isList?: boolean;
  readonly change: (to: string) => void;
}

function TextField({
  id,
  label,
  hint,
  value,
  problems,
  isRequired = false,
  isList = false,
  change,
}: TextFieldProps): JSX.Element {
  const shared = {
    id: `block-${id}`,
    'aria-describedby': `block-${id}-hint`,
    'aria-invalid': problems.length > 0,
    autocomplete: 'off' as const,
    autocapitalize: 'off' as const,
    spellcheck: id === 'reason',
    value,
    required: isRequired,
  };
  return (
    <div class="field">
      <label for={shared.id}>
        {label} {!isRequired && <span class="muted">optional</span>}
      </label>
      {isList ? (
        <textarea
          {...shared}
          rows={2}
          class="code-field"
          onInput={(event) => change(event.currentTarget.value)}
        />
      ) : (
        <input {...shared} type="text" onInput={(event) => change(event.currentTarget.value)} />
      )}
      <div id={`block-${id}-hint`}>
        <p class="hint">{hint}</p>
        {problems.map((problem) => (
          <p class="problem" key={problem}>
            <UntrustedText text={problem} class="break" />
          </p>
        ))}
      </div>
    </div>
  );
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
}

function bodyOf(texts: Texts, types: readonly EntryType[]): BlockBody {
  const packages = linesOf(texts.packages).map((line) => {
    const [registryType = '', identifier = '', ...range] = line.split(/\s+/);
    return { registryType, identifier, ...(range.length > 0 ? { version: range.join(' ') } : {}) };
  });
  const lists = {
    names: linesOf(texts.names),
    types: [...types],
    packages,
    remotes: linesOf(texts.remotes),
    digests: linesOf(texts.digests),
  };
  const versions = texts.versions.trim();
  return {
    ...Object.fromEntries(Object.entries(lists).filter(([, values]) => values.length > 0)),
    ...(versions === '' ? {} : { versions }),
    reason: texts.reason.trim(),
  };
}

/** `packages[0].identifier: …` → `line 1: identifier …` */
function packageProblems(details: readonly string[]): string[] {
  return details.flatMap((detail) => {
    const [, index, member = '', problem] = /^packages(?:\[(\d+)\])?\.?(\w*): (.*)$/s.exec(detail) ?? [];
    if (problem === undefined) return [];
    return [
      `${index === undefined ? '' : `line ${Number(index) + 1}: `}${member} ${problem}`.replace(/ {2,}/, ' '),
    ];
  });
}
