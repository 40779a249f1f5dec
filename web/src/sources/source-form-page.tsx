import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { api, unwrap, unwrapWithEtag } from '../api/client.js';
import type { Claims, Source, SourceKinds, SourceSettings, SourceTest } from '../api/types.js';
import { AccessChanges } from '../claims/access-changes.js';
import { claimsKey } from '../claims/claims-editor.js';
import { LinesField, OneOf, Problems, TextField } from '../forms/fields.js';
import { SchemaFields, type Values } from '../forms/schema-fields.js';
import {
  dropEmpty,
  type FieldProblems,
  readSchemas,
  type Schemas,
  settingsOf,
  without,
} from '../forms/schema.js';
import { ResourceForm, ResourceFormPage } from '../resources/resource-form.js';
import { useSession } from '../session/session.js';
import { pluralize } from '../ui/format.js';
import { useQuery } from '../ui/query.js';
import { UntrustedText } from '../ui/untrusted-text.js';
import { FORMATS as FORMAT_NAMES } from './formats.js';
import { KIND_FIELDS } from './kind-fields.js';
import { firstClaims, SourceClaims } from './source-claims.js';

type Kind = Source['kind'];

interface KindForm {
  readonly title: string;
  readonly description: string;
  /** Whether the form has a sync policy. */
  readonly isSynced: boolean;
  /** Whether syncs of such a source refuse to remove most entries, because another server provides them. */
  readonly isGuarded: (section: Values) => boolean;
}

const FORMS: Readonly<Record<Kind, KindForm>> = {
  git: {
    title: 'Git repository',
    description: 'A plugin marketplace, skills, servers or a registry file',
    isSynced: true,
    isGuarded: () => false,
  },
  api: {
    title: 'Another registry',
    description: 'Another MCP registry, such as the official one',
    isSynced: true,
    isGuarded: () => true,
  },
  file: {
    title: 'File',
    description: 'Servers, a plugin marketplace or a registry file, at a URL',
    isSynced: true,
    isGuarded: ({ path }) => path === undefined,
  },
  kubernetes: {
    title: 'Kubernetes cluster',
    description: 'Custom resources in a cluster',
    isSynced: false,
    isGuarded: () => false,
  },
  managed: {
    title: 'Published entries',
    description: 'What people publish here; at most one such source',
    isSynced: false,
    isGuarded: () => false,
  },
};
const KINDS = Object.keys(FORMS) as readonly Kind[];

interface Editable {
  readonly schemas: Schemas;
  /** Undefined for a new source. */
  readonly source: Source | undefined;
  readonly etag: string | null;
  /** What this server lets the caller create. */
  readonly offered: SourceKinds;
}

export function SourceFormPage({ name }: { name: string | null }): JSX.Element {
  const query = useQuery(`form ${name ?? ''}`, async (signal): Promise<Editable> => {
    const schemas = await readSchemas();
    const offered = await unwrap(api.GET('/v1/source-kinds', { signal }));
    if (name === null) return { schemas, source: undefined, etag: null, offered };
    const { value, etag } = await unwrapWithEtag(
      api.GET('/v1/sources/{name}', { params: { path: { name } }, signal }),
    );
    return { schemas, source: value, etag, offered };
  });
  return (
    <ResourceFormPage resource="sources" name={name} query={query}>
      {(editable) => <SourceForm {...editable} />}
    </ResourceFormPage>
  );
}

const INTERVALS = ['5m', '30m', '1h', '6h', '24h'];

function SourceForm({ schemas, source, etag, offered }: Editable): JSX.Element {
  const { settings, me } = useSession();
  const [kind, setKind] = useState<Kind>(source?.kind ?? 'git');
  const [values, setValues] = useState<Values>(() => ({
    syncPolicy: { interval: '30m' },
    ...(source ? settingsOf(source) : { claims: firstClaims(me) }),
  }));
  const [tested, setTested] = useState<{ readonly of: string; readonly result: SourceTest }>();
  const { isSynced, isGuarded } = FORMS[kind];
  const Fields = KIND_FIELDS[kind];
  const { [kind]: section, syncPolicy, filter, allowShrink, claims } = values;
  const policy = (syncPolicy ?? {}) as Values;
  const canShrink = isGuarded((section ?? {}) as Values);
  const unused = [
    ...KINDS,
    ...(isSynced ? [] : ['syncPolicy', 'admission']),
    ...(canShrink ? [] : ['allowShrink']),
  ];
  const shared = dropEmpty(without(values, ...unused)) as Values;
  const body = { ...shared, [kind]: dropEmpty(section ?? {}) } as unknown as SourceSettings;
  const key = JSON.stringify(body);
  const change = (to: Values) => setValues({ ...values, ...to });
  const save = async (name: string) => {
    const header = etag === null ? { 'If-None-Match': '*' as const } : { 'If-Match': etag };
    await unwrap(api.PUT('/v1/sources/{name}', { params: { path: { name }, header }, body }));
  };
  const test = async (name: string) => {
    setTested(undefined);
    const result = await unwrap(api.POST('/v1/sources/{name}/test', { params: { path: { name } }, body }));
    setTested({ of: key, result });
  };
  return (
    <ResourceForm
      resource="sources"
      stored={source?.name ?? null}
      canSave={!settings.checksClaims || claims !== undefined}
      save={save}
      test={isSynced ? test : undefined}
      result={tested && tested.of === key && <TestResult result={tested.result} />}
    >
      {(problems) => (
        <>
          {!source && <KindChoice kind={kind} offered={offered} change={setKind} />}
          <Fields
            key={kind}
            schemas={schemas}
            problems={problems}
            isStored={source !== undefined}
            mayReadFiles={offered.files}
            value={(section ?? {}) as Values}
            change={(to) => change({ [kind]: to })}
          />
          {isSynced && (
            <TextField
              label="Interval"
              isRequired
              hint="How often the source is read, such as 30m or 6h."
              suggestions={INTERVALS}
              value={policy['interval']}
              change={(interval) => change({ syncPolicy: { ...policy, interval } })}
              problems={[...problems.at('syncPolicy.interval'), ...problems.at('syncPolicy')]}
            />
          )}
          <SourceClaims
            kind={kind}
            claims={claims as Claims | undefined}
            change={(to) => change({ claims: to })}
            problems={problems.at('claims')}
          />
          <FilterFields value={(filter ?? {}) as Values} change={change} problems={problems} />
          <SchemaFields
            schema={schemas['SourceSettings'] ?? {}}
            schemas={schemas}
            path=""
            problems={problems}
            leaveOut={[...SHOWN_HERE, ...unused]}
            hints={HINTS}
            value={values}
            change={setValues}
          />
          {canShrink && (
            <div class="field">
              <label class="check">
                <input
                  type="checkbox"
                  checked={allowShrink === true}
                  onChange={(event) => change({ allowShrink: event.currentTarget.checked || undefined })}
                />{' '}
                Let one sync remove most entries
              </label>
              <Problems
                id="allow-shrink"
                problems={problems.at('allowShrink')}
                hint="Otherwise, if a source with 20 or more entries would lose more than half of them, the sync fails and keeps them."
              />
            </div>
          )}
          {source && (
            <AccessChanges
              changed={claimsKey(source.claims as Claims) === claimsKey(body.claims ?? {}) ? null : key}
              read={(signal) =>
                unwrap(
                  api.POST('/v1/sources/{name}/access', {
                    params: { path: { name: source.name } },
                    body,
                    signal,
                  }),
                )
              }
            />
          )}
        </>
      )}
    </ResourceForm>
  );
}

/** The settings with their own fields. */
const SHOWN_HERE = ['syncPolicy', 'filter', 'claims', 'allowShrink'];

const HINTS = {
  admission: 'How new versions are admitted: they can wait, be held for review, or be rejected.',
};

const FILTERS = [
  ['names', 'include', 'Only these names', 'For example com.acme/*: * is any text, ? one character.'],
  ['names', 'exclude', 'Never these names', 'Overrides the names above.'],
  ['tags', 'include', 'Only with one of these tags', undefined],
  ['tags', 'exclude', 'Never with these tags', undefined],
] as const;

interface FilterProps {
  readonly value: Values;
  readonly change: (to: Values) => void;
  readonly problems: FieldProblems;
}

/** Which entries of the source to take. */
function FilterFields({ value, change, problems }: FilterProps): JSX.Element {
  const [isOpen] = useState(Object.keys(value).length > 0);
  return (
    <details class="field group" open={isOpen || problems.isWithin('filter') || undefined}>
      <summary>
        Filter <span class="muted">optional</span>
      </summary>
      {FILTERS.map(([group, key, label, hint]) => {
        const patterns = (value[group] ?? {}) as Values;
        return (
          <LinesField
            key={label}
            label={label}
            hint={hint}
            value={patterns[key]}
            problems={problems.at(`filter.${group}.${key}`)}
            change={(lines) => change({ filter: { ...value, [group]: { ...patterns, [key]: lines } } })}
          />
        );
      })}
    </details>
  );
}

/** What a sync with the settings in the form would read. */
function TestResult({
  result: { status, error = '', format, counts, skipped },
}: {
  result: SourceTest;
}): JSX.Element {
  if (status === 'failed')
    return (
      <section class="refusal below" role="status">
        <p class="refusal-sentence">The source cannot be read</p>
        <p>
          <UntrustedText text={error} class="break" />
        </p>
      </section>
    );
  const { entries = 0, skipped: invalid = 0, filtered = 0 } = counts;
  return (
    <section class={entries > 0 ? 'notice good below' : 'notice below'} role="status">
      <p>
        The source can be read: {pluralize(entries, 'version')}
        {invalid > 0 && `, ${invalid.toLocaleString('en')} skipped as invalid`}
        {filtered > 0 && `, ${filtered.toLocaleString('en')} left out by the filter`}.
        {format !== undefined && ` Format: ${FORMAT_NAMES[format].toLowerCase()}.`} Nothing was stored.
      </p>
      {skipped.length > 0 && (
        <ul class="bullets">
          {skipped.map(({ name, version, reasons }, index) => (
            <li key={index}>
              <UntrustedText text={[name ?? 'no name', version ?? ''].join(' ').trim()} class="break" />
              {': '}
              <UntrustedText text={reasons.join('; ')} class="break" />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

interface KindChoiceProps {
  readonly kind: Kind;
  readonly offered: SourceKinds;
  readonly change: (kind: Kind) => void;
}

function KindChoice({ kind, offered, change }: KindChoiceProps): JSX.Element {
  const where = (each: Kind) => (each === 'file' && offered.files ? ' or on the server' : '');
  return (
    <OneOf
      label="Kind"
      name="kind"
      options={KINDS.filter((each) => offered.kinds.includes(each)).map(
        (each) => [each, `${FORMS[each].title}: ${FORMS[each].description}${where(each)}`] as const,
      )}
      value={kind}
      change={change}
    />
  );
}
