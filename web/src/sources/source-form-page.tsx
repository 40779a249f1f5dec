import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { api, unwrap, unwrapWithEtag } from '../api/client.js';
import type { Source, SourceSettings } from '../api/types.js';
import { SchemaFields, type Values } from '../forms/schema-fields.js';
import { dropEmpty, readSchemas, resolveRef, type Schemas } from '../forms/schema.js';
import { ResourceForm, ResourceFormPage } from '../resources/resource-form.js';
import { useQuery } from '../ui/query.js';

type Kind = Source['kind'];

interface KindForm {
  readonly description: string;
  /** Whether the form has a sync policy. */
  readonly isSynced: boolean;
  readonly claimsHint: string;
}

const SEE_AND_MANAGE = 'Callers must hold all of these to see its entries or manage the source.';
const MANAGE = 'Callers must hold all of these to manage the source. Entries have their own claims.';
const FORMS: Readonly<Record<Kind, KindForm>> = {
  file: {
    description: 'A registry file on the server or at a URL',
    isSynced: true,
    claimsHint: SEE_AND_MANAGE,
  },
  git: { description: 'A registry file in a Git repository', isSynced: true, claimsHint: SEE_AND_MANAGE },
  api: { description: 'Another MCP registry', isSynced: true, claimsHint: SEE_AND_MANAGE },
  managed: {
    description: 'Entries published here; at most one such source',
    isSynced: false,
    claimsHint: MANAGE,
  },
  kubernetes: {
    description: 'Custom resources in a Kubernetes cluster',
    isSynced: false,
    claimsHint: MANAGE,
  },
};
const KINDS = Object.keys(FORMS) as readonly Kind[];

interface Editable {
  readonly schemas: Schemas;
  /** Undefined for a new source. */
  readonly source: Source | undefined;
  readonly etag: string | null;
}

export function SourceFormPage({ name }: { name: string | null }): JSX.Element {
  const query = useQuery(`form ${name ?? ''}`, async (signal): Promise<Editable> => {
    const schemas = await readSchemas();
    if (name === null) return { schemas, source: undefined, etag: null };
    const { value, etag } = await unwrapWithEtag(
      api.GET('/v1/sources/{name}', { params: { path: { name } }, signal }),
    );
    return { schemas, source: value, etag };
  });
  return (
    <ResourceFormPage resource="sources" name={name} query={query}>
      {(editable) => <SourceForm {...editable} />}
    </ResourceFormPage>
  );
}

function SourceForm({ schemas, source, etag }: Editable): JSX.Element {
  const [kind, setKind] = useState<Kind>(source?.kind ?? 'git');
  const [values, setValues] = useState<Values>(() => ({ syncPolicy: { interval: '30m' }, ...source }));
  const whole = schemas['SourceSettings'] ?? {};
  const { isSynced, claimsHint } = FORMS[kind];
  const save = async (name: string) => {
    const { [kind]: section, syncPolicy, filter, allowShrink, claims } = values;
    const shared = dropEmpty({ ...(isSynced ? { syncPolicy } : {}), filter, allowShrink, claims });
    const header = etag === null ? { 'If-None-Match': '*' as const } : { 'If-Match': etag };
    await unwrap(
      api.PUT('/v1/sources/{name}', {
        params: { path: { name }, header },
        body: { ...(shared as object), [kind]: dropEmpty(section ?? {}) } as SourceSettings,
      }),
    );
  };
  return (
    <ResourceForm resource="sources" stored={source?.name ?? null} save={save}>
      {(details) => (
        <>
          {!source && <KindChoice kind={kind} change={setKind} />}
          <SchemaFields
            schema={resolveRef(whole.properties?.[kind] ?? {}, schemas)}
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
            hints={{ claims: claimsHint }}
            value={values}
            change={setValues}
          />
        </>
      )}
    </ResourceForm>
  );
}

function KindChoice({ kind, change }: { kind: Kind; change: (kind: Kind) => void }): JSX.Element {
  return (
    <fieldset class="field">
      <legend class="label">Kind</legend>
      {KINDS.map((each) => (
        <label key={each} class="check">
          <input type="radio" name="kind" checked={each === kind} onChange={() => change(each)} />{' '}
          <b>{each}</b> <span class="muted">{FORMS[each].description}</span>
        </label>
      ))}
    </fieldset>
  );
}
