import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { answer, answerWithTag, api } from '../api/client.js';
import type { Source, SourceSettings } from '../api/types.js';
import { useAnswer } from '../api/use-answer.js';
import { DeclaredForm, DeclaredFormPage } from '../declared/declared-form.js';
import { readSchemas, resolved, type Schemas, withoutEmpty } from '../forms/schema.js';
import { SchemaFields, type Values } from '../forms/schema-fields.js';

const KINDS = ['file', 'git', 'api', 'managed', 'kubernetes'] as const;
type Kind = (typeof KINDS)[number];
const WHAT: Readonly<Record<Kind, string>> = {
  file: 'A registry file on the server or behind a URL',
  git: 'A registry file in a Git repository',
  api: 'Another MCP registry',
  managed: 'What is published here; there is one at most',
  kubernetes: 'Custom resources of a cluster',
};

const HINTS = {
  managed: 'Whoever manages it holds all of these. Each entry brings its own.',
  others: 'Whoever sees its entries, or manages it, holds all of these.',
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
    const { value, etag } = await answerWithTag(
      api.GET('/v1/sources/{name}', { params: { path: { name } }, signal }),
    );
    return { schemas, source: value, etag };
  });
  return (
    <DeclaredFormPage place="sources" name={name} asked={asked}>
      {(editable) => <SourceForm {...editable} />}
    </DeclaredFormPage>
  );
}

function SourceForm({ schemas, source, etag }: Editable): JSX.Element {
  const [kind, setKind] = useState<Kind>(source?.kind ?? 'git');
  const [values, setValues] = useState<Values>(() => ({ syncPolicy: { interval: '30m' }, ...source }));
  const whole = schemas['SourceSettings'] ?? {};
  const isSynced = kind !== 'managed' && kind !== 'kubernetes';
  const save = async (name: string) => {
    const { [kind]: section, syncPolicy, filter, allowShrink, claims } = values;
    const shared = withoutEmpty({ ...(isSynced ? { syncPolicy } : {}), filter, allowShrink, claims });
    const header = etag === null ? { 'If-None-Match': '*' as const } : { 'If-Match': etag };
    await answer(
      api.PUT('/v1/sources/{name}', {
        params: { path: { name }, header },
        body: { ...(shared as object), [kind]: withoutEmpty(section ?? {}) } as SourceSettings,
      }),
    );
  };
  return (
    <DeclaredForm place="sources" stored={source?.name ?? null} save={save}>
      {(details) => (
        <>
          {!source && <KindChoice kind={kind} change={setKind} />}
          <SchemaFields
            schema={resolved(whole.properties?.[kind] ?? {}, schemas)}
            schemas={schemas}
            path={kind}
            details={details}
            value={(values[kind] ?? {}) as Values}
            change={(section) => setValues({ ...values, [kind]: section })}
          />
          <SchemaFields
            schema={isSynced ? { ...whole, required: ['syncPolicy', ...(whole.required ?? [])] } : whole}
            schemas={schemas}
            path=""
            details={details}
            leaveOut={[...KINDS, ...(isSynced ? [] : ['syncPolicy'])]}
            hints={{ claims: HINTS[kind === 'managed' ? 'managed' : 'others'] }}
            value={values}
            change={setValues}
          />
        </>
      )}
    </DeclaredForm>
  );
}

function KindChoice({ kind, change }: { kind: Kind; change: (kind: Kind) => void }): JSX.Element {
  return (
    <fieldset class="field">
      <legend class="label">Kind</legend>
      {KINDS.map((each) => (
        <label key={each} class="check">
          <input type="radio" name="kind" checked={each === kind} onChange={() => change(each)} />{' '}
          <b>{each}</b> <span class="muted">{WHAT[each]}</span>
        </label>
      ))}
    </fieldset>
  );
}
