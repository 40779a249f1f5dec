import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { answer, api } from '../api/client.js';
import { failureOf } from '../api/failure.js';
import type { Source, SourceSettings } from '../api/types.js';
import { useAnswer } from '../api/use-answer.js';
import { readSchemas, resolved, type Schemas, withoutEmpty } from '../forms/schema.js';
import { SchemaFields, type Values } from '../forms/schema-fields.js';
import { goTo, hashOf } from '../navigation/route.js';
import { useAct } from '../ui/act.js';
import { Answered } from '../ui/answered.js';
import { Plain } from '../ui/plain.js';
import { Refusal } from '../ui/refusal.js';

const KINDS = ['file', 'git', 'api', 'managed', 'kubernetes'] as const;
type Kind = (typeof KINDS)[number];
const WHAT: Readonly<Record<Kind, string>> = {
  file: 'A registry file on the server or behind a URL',
  git: 'A registry file in a Git repository',
  api: 'Another MCP registry',
  managed: 'What is published here; there is one at most',
  kubernetes: 'Custom resources of a cluster',
};

interface Editable {
  readonly schemas: Schemas;
  /** Undefined: it is to be made. */
  readonly source: Source | undefined;
  readonly etag: string | null;
}

export function SourceFormPage({ name }: { name: string | null }): JSX.Element {
  const asked = useAnswer(`form ${name ?? ''}`, async (signal): Promise<Editable> => {
    const schemas = await readSchemas();
    if (name === null) return { schemas, source: undefined, etag: null };
    const { data, error, response } = await api.GET('/v1/sources/{name}', {
      params: { path: { name } },
      signal,
    });
    if (!data) throw failureOf(response.status, error);
    return { schemas, source: data, etag: response.headers.get('ETag') };
  });
  return (
    <>
      <p class="trail">
        <a href={name === null ? '#/sources' : hashOf(['sources', name])}>
          ← {name === null ? 'Sources' : <Plain text={name} />}
        </a>
      </p>
      <h1>{name === null ? 'New source' : 'Edit source'}</h1>
      <Answered asked={asked}>{(editable) => <SourceForm {...editable} />}</Answered>
    </>
  );
}

function SourceForm({ schemas, source, etag }: Editable): JSX.Element {
  const [name, setName] = useState(source?.name ?? '');
  const [kind, setKind] = useState<Kind>(source?.kind ?? 'git');
  const [values, setValues] = useState<Values>(() => ({ syncPolicy: { interval: '30m' }, ...source }));
  const whole = schemas['SourceSettings'] ?? {};
  const others = KINDS.filter((each) => each !== kind);
  const isSynced = kind !== 'managed' && kind !== 'kubernetes';
  const save = useAct(async () => {
    const { [kind]: section, syncPolicy, filter, allowShrink, claims } = values;
    const body = withoutEmpty({
      ...(isSynced ? { syncPolicy } : {}),
      filter,
      allowShrink,
      claims,
    }) as SourceSettings;
    const header = source ? (etag === null ? {} : { 'If-Match': etag }) : { 'If-None-Match': '*' as const };
    await answer(
      api.PUT('/v1/sources/{name}', {
        params: { path: { name }, header },
        body: { ...body, [kind]: withoutEmpty(section ?? {}) } as SourceSettings,
      }),
    );
    goTo(hashOf(['sources', name]));
  });
  const details = save.failure?.details ?? [];
  const kindSchema = resolved(whole.properties?.[kind] ?? {}, schemas);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save.run();
      }}
    >
      {!source && (
        <div class="field">
          <label for="source-name">Name</label>
          <input
            id="source-name"
            required
            maxLength={63}
            value={name}
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => setName(event.currentTarget.value)}
          />
          <p class="hint">Lower-case letters, digits and hyphens</p>
        </div>
      )}
      {!source && (
        <fieldset class="field">
          <legend class="label">Kind</legend>
          {KINDS.map((each) => (
            <label key={each} class="check">
              <input type="radio" name="kind" checked={each === kind} onChange={() => setKind(each)} />{' '}
              <b>{each}</b> <span class="muted">{WHAT[each]}</span>
            </label>
          ))}
        </fieldset>
      )}
      <SchemaFields
        schema={kindSchema}
        schemas={schemas}
        path={kind}
        details={details}
        value={(values[kind] ?? {}) as Values}
        change={(section) => setValues({ ...values, [kind]: section })}
      />
      <SchemaFields
        schema={whole}
        schemas={schemas}
        path=""
        details={details}
        leaveOut={[...others, kind, ...(isSynced ? [] : ['syncPolicy'])]}
        value={values}
        change={setValues}
      />
      {save.failure && <Refusal failure={save.failure} />}
      <p class="buttons form-end">
        <button class="primary" disabled={save.isUnderWay}>
          {source ? 'Save' : 'Create'}
        </button>
        <a class="button" href={source ? hashOf(['sources', source.name]) : '#/sources'}>
          Cancel
        </a>
      </p>
    </form>
  );
}
