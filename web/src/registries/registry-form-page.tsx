import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { RegistrySettings } from '../api/types.js';
import { useAnswer } from '../api/use-answer.js';
import { DeclaredForm, DeclaredFormPage } from '../declared/declared-form.js';
import { readSchemas, type Schemas, withoutEmpty } from '../forms/schema.js';
import { SchemaFields, type Values } from '../forms/schema-fields.js';
import { putRegistry, readRegistry, settingsOf } from './registry-settings.js';
import { SourceChoice } from './source-choice.js';
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
    <DeclaredFormPage place="registries" name={name} asked={asked}>
      {(editable) => <RegistryForm {...editable} stored={name} />}
    </DeclaredFormPage>
  );
}

function RegistryForm({
  schemas,
  values: before,
  etag,
  stored,
}: Editable & { stored: string | null }): JSX.Element {
  const [values, setValues] = useState(before);
  const sources = (values['sources'] ?? []) as string[];
  const change = (to: string[]) => setValues({ ...values, sources: to });
  return (
    <DeclaredForm
      place="registries"
      stored={stored}
      canSave={sources.length > 0}
      save={(name) =>
        putRegistry(name, etag, { ...(withoutEmpty(values) as Partial<RegistrySettings>), sources })
      }
    >
      {(details) => (
        <>
          <fieldset class="field group">
            <legend>Sources</legend>
            <p class="hint">The order decides who wins when a name is in several.</p>
            <SourceOrder sources={sources} change={change} canRemove />
            <SourceChoice sources={sources} change={change} />
          </fieldset>
          <SchemaFields
            schema={schemas['RegistrySettings'] ?? {}}
            schemas={schemas}
            path=""
            details={details}
            leaveOut={['sources']}
            hints={{ claims: 'Whoever enters it holds all of these.' }}
            value={values}
            change={setValues}
          />
        </>
      )}
    </DeclaredForm>
  );
}
