import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { api, unwrap, unwrapWithEtag } from '../api/client.js';
import type {
  AccessChanges as AccessChangesAnswer,
  Claims,
  Registry,
  RegistrySettings,
} from '../api/types.js';
import { AccessChanges } from '../claims/access-changes.js';
import { claimsKey } from '../claims/claims-editor.js';
import { SchemaFields, type Values } from '../forms/schema-fields.js';
import { dropEmpty, readSchemas, type Schemas, settingsOf } from '../forms/schema.js';
import { ResourceForm, ResourceFormPage } from '../resources/resource-form.js';
import { isOffered, useSession } from '../session/session.js';
import { readSources } from '../sources/sources-page.js';
import { useQuery } from '../ui/query.js';
import { SourceOrder } from './source-order.js';

interface Editable {
  readonly schemas: Schemas;
  readonly values: Values;
  readonly etag: string | null;
}

interface PageProps {
  readonly name: string | null;
  /** `source`: the first source of a new registry. */
  readonly query: URLSearchParams;
}

export function RegistryFormPage({ name, query: asked }: PageProps): JSX.Element {
  const query = useQuery(`form ${name ?? ''}`, async (signal): Promise<Editable> => {
    const schemas = await readSchemas();
    if (name === null) return { schemas, values: { sources: asked.getAll('source') }, etag: null };
    const { registry, etag } = await readRegistry(name, signal);
    return { schemas, values: settingsOf(registry), etag };
  });
  return (
    <ResourceFormPage resource="registries" name={name} query={query}>
      {(editable) => <RegistryForm {...editable} stored={name} />}
    </ResourceFormPage>
  );
}

function RegistryForm({
  schemas,
  values: before,
  etag,
  stored,
}: Editable & { stored: string | null }): JSX.Element {
  const { settings } = useSession();
  const [values, setValues] = useState(before);
  const sources = (values['sources'] ?? []) as string[];
  const change = (to: string[]) => setValues({ ...values, sources: to });
  const body = { ...(dropEmpty(values) as Values), sources };
  const isSame = stored !== null && accessKey(values) === accessKey(before);
  return (
    <ResourceForm
      resource="registries"
      stored={stored}
      canSave={sources.length > 0}
      save={(name) => putRegistry(name, etag, body)}
    >
      {(problems, name) => (
        <>
          <fieldset class="field group">
            <legend>Sources</legend>
            <p class="hint">If several sources contain the same entry name, the first one wins.</p>
            <SourceOrder sources={sources} change={change} canRemove />
            <AddSource sources={sources} change={change} />
          </fieldset>
          <SchemaFields
            schema={schemas['RegistrySettings'] ?? {}}
            schemas={schemas}
            path=""
            problems={problems}
            leaveOut={settings.mode === 'anonymous' ? ['sources', ...OF_OAUTH_MODES] : ['sources']}
            hints={HINTS}
            value={values}
            change={setValues}
          />
          <AccessChanges
            changed={name === '' || sources.length === 0 || isSame ? null : JSON.stringify([name, body])}
            read={(signal) => readAccessChanges(name, body, signal)}
          />
        </>
      )}
    </ResourceForm>
  );
}

/** The settings that decide who sees what. */
function accessKey({ sources, claims, anonymous, keys }: Values): string {
  return JSON.stringify([sources, claimsKey((claims ?? {}) as Claims), anonymous, keys]);
}

/** Who would gain and lose access with these settings. */
export function readAccessChanges(
  name: string,
  settings: Values,
  signal: AbortSignal,
): Promise<AccessChangesAnswer> {
  const body = settings as unknown as RegistrySettings;
  return unwrap(api.POST('/v1/registries/{name}/access', { params: { path: { name } }, body, signal }));
}

/** Ways to get access other than with a token. */
const OF_OAUTH_MODES: readonly (keyof RegistrySettings)[] = ['anonymous', 'keys'];

const HINTS: Partial<Record<keyof RegistrySettings, string>> = {
  claims:
    'People must hold all of these to access the registry. If there are none, everyone can, unless the policy denies it.',
  anonymous: 'Opens the registry to readers without a token, who then hold these claims.',
  keys: 'For clients that cannot log in: a key in the URL opens the registry for reading.',
  publishClaims: 'What mcp-publisher publishes here gets these claims. Without them, it cannot publish here.',
  marketplace: 'Offers the plugins and skills of the registry to Claude Code and similar clients.',
};

interface AddSourceProps {
  readonly sources: readonly string[];
  readonly change: (to: string[]) => void;
}

/** Adds a source by name, suggesting the sources that the caller manages. */
function AddSource({ sources, change }: AddSourceProps): JSX.Element {
  const session = useSession();
  const [name, setName] = useState('');
  const known = useQuery(isOffered(session, 'manageSources') ? 'sources' : null, readSources);
  const offered = (known.value ?? []).map((source) => source.name);
  const trimmed = name.trim();
  const add = () => {
    if (trimmed !== '' && !sources.includes(trimmed)) change([...sources, trimmed]);
    setName('');
  };
  return (
    <span class="claims-add">
      <input
        type="text"
        aria-label="Source"
        list="known-sources"
        placeholder="source"
        autocapitalize="off"
        spellcheck={false}
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          event.preventDefault();
          add();
        }}
      />
      <datalist id="known-sources">
        {offered
          .filter((each) => !sources.includes(each))
          .map((each) => (
            <option key={each} value={each} />
          ))}
      </datalist>
      <button type="button" class="small" onClick={add} disabled={trimmed === ''}>
        Add
      </button>
    </span>
  );
}

/** A registry and the ETag for updating it. */
export interface StoredRegistry {
  readonly registry: Registry;
  readonly etag: string | null;
}

export async function readRegistry(name: string, signal: AbortSignal): Promise<StoredRegistry> {
  const { value, etag } = await unwrapWithEtag(
    api.GET('/v1/registries/{name}', { params: { path: { name } }, signal }),
  );
  return { registry: value, etag };
}

/**
 * @param etag the ETag of the registry to replace. Null creates a new registry.
 * @param settings all settings: PUT removes those that are absent.
 */
export async function putRegistry(name: string, etag: string | null, settings: Values): Promise<void> {
  const header = etag === null ? { 'If-None-Match': '*' as const } : { 'If-Match': etag };
  const body = settings as unknown as RegistrySettings;
  await unwrap(api.PUT('/v1/registries/{name}', { params: { path: { name }, header }, body }));
}
