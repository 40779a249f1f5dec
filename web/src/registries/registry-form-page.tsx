import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { answer, api } from '../api/client.js';
import type { RegistrySettings } from '../api/types.js';
import { useAnswer } from '../api/use-answer.js';
import { readSchemas, type Schemas, withoutEmpty } from '../forms/schema.js';
import { SchemaFields, type Values } from '../forms/schema-fields.js';
import { goTo, hashOf } from '../navigation/route.js';
import { useAct } from '../ui/act.js';
import { Answered } from '../ui/answered.js';
import { Plain } from '../ui/plain.js';
import { Refusal } from '../ui/refusal.js';
import { putRegistry, readRegistry, settingsOf } from './registry-page.js';
import { SourceOrder } from './source-order.js';

interface Editable {
  readonly schemas: Schemas;
  readonly values: Values;
  readonly etag: string | null;
}

export function RegistryFormPage({ name }: { name: string | null }): JSX.Element {
  const asked = useAnswer(`form ${name ?? ''}`, async (signal): Promise<Editable> => {
    const schemas = await readSchemas();
    if (name === null) return { schemas, values: { sources: [] }, etag: null };
    const { registry, etag } = await readRegistry(name, signal);
    return { schemas, values: { ...settingsOf(registry) }, etag };
  });
  return (
    <>
      <p class="trail">
        <a href={name === null ? '#/registries' : hashOf(['registries', name])}>
          ← {name === null ? 'Registries' : <Plain text={name} />}
        </a>
      </p>
      <h1>{name === null ? 'New registry' : 'Edit registry'}</h1>
      <Answered asked={asked}>{(editable) => <RegistryForm {...editable} stored={name} />}</Answered>
    </>
  );
}

function RegistryForm({
  schemas,
  values: before,
  etag,
  stored,
}: Editable & { stored: string | null }): JSX.Element {
  const [name, setName] = useState(stored ?? '');
  const [values, setValues] = useState(before);
  const sources = (values['sources'] ?? []) as string[];
  const save = useAct(async () => {
    const body = { ...(withoutEmpty(values) as Partial<RegistrySettings>), sources };
    if (stored !== null) await putRegistry(name, etag, body);
    else
      await answer(
        api.PUT('/v1/registries/{name}', {
          params: { path: { name }, header: { 'If-None-Match': '*' } },
          body,
        }),
      );
    goTo(hashOf(['registries', name]));
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save.run();
      }}
    >
      {stored === null && (
        <div class="field">
          <label for="registry-name">Name</label>
          <input
            id="registry-name"
            required
            maxLength={63}
            value={name}
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => setName(event.currentTarget.value)}
          />
          <p class="hint">It stands in the address that clients read</p>
        </div>
      )}
      <fieldset class="field group">
        <legend>Sources</legend>
        <p class="hint">The order decides who wins when a name is in several.</p>
        <SourceOrder sources={sources} change={(to) => setValues({ ...values, sources: to })} />
        <SourceChoice sources={sources} change={(to) => setValues({ ...values, sources: to })} />
      </fieldset>
      <SchemaFields
        schema={schemas['RegistrySettings'] ?? {}}
        schemas={schemas}
        path=""
        details={save.failure?.details ?? []}
        leaveOut={['sources']}
        value={values}
        change={setValues}
      />
      {save.failure && <Refusal failure={save.failure} />}
      <p class="buttons form-end">
        <button class="primary" disabled={save.isUnderWay || sources.length === 0}>
          {stored === null ? 'Create' : 'Save'}
        </button>
        <a class="button" href={stored === null ? '#/registries' : hashOf(['registries', stored])}>
          Cancel
        </a>
      </p>
    </form>
  );
}

/** The sources that the caller manages are offered; another one can be named. */
function SourceChoice({
  sources,
  change,
}: {
  sources: readonly string[];
  change: (to: string[]) => void;
}): JSX.Element {
  const [name, setName] = useState('');
  const known = useAnswer('sources', (signal) => answer(api.GET('/v1/sources', { signal })));
  const names = known.value?.sources.map((source) => source.name) ?? [];
  const add = () => {
    if (name !== '' && !sources.includes(name)) change([...sources, name]);
    setName('');
  };
  return (
    <>
      {sources.length > 0 && (
        <span class="chips">
          {sources.map((each) => (
            <button
              type="button"
              class="chip"
              key={each}
              onClick={() => change(sources.filter((one) => one !== each))}
            >
              Leave out <Plain text={each} />
            </button>
          ))}
        </span>
      )}
      <span class="claims-add">
        <input
          type="text"
          aria-label="Source"
          list="known-sources"
          placeholder="name of a source"
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return;
            event.preventDefault();
            add();
          }}
        />
        <datalist id="known-sources">
          {names
            .filter((each) => !sources.includes(each))
            .map((each) => (
              <option key={each} value={each} />
            ))}
        </datalist>
        <button type="button" class="small" onClick={add} disabled={name === ''}>
          Add
        </button>
      </span>
    </>
  );
}
