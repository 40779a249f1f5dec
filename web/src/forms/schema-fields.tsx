import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { Claims } from '../api/types.js';
import { ClaimsEditor } from '../claims/claims-editor.js';
import { Problems } from './fields.js';
import { type FieldProblems, isClaims, labelOf, resolveRef, type Schema, type Schemas } from './schema.js';

export type Values = Readonly<Record<string, unknown>>;

interface FieldProps {
  readonly name: string;
  readonly path: string;
  readonly schema: Schema;
  readonly schemas: Schemas;
  readonly isRequired: boolean;
  /** Whether the group of the field is optional and has no value yet. */
  readonly isInAbsentGroup?: boolean;
  readonly value: unknown;
  readonly problems: FieldProblems;
  readonly change: (value: unknown) => void;
}

/** Form fields for the properties of an object schema. */
export function SchemaFields({
  schema,
  leaveOut = [],
  hints = {},
  value,
  change,
  path,
  ...rest
}: Omit<FieldProps, 'name' | 'isRequired' | 'value' | 'change'> & {
  leaveOut?: readonly string[];
  /** Overrides the schema's description by property name. */
  hints?: Readonly<Record<string, string>>;
  value: Values;
  change: (value: Values) => void;
}): JSX.Element {
  const members = Object.entries(schema.properties ?? {}).filter(([name]) => !leaveOut.includes(name));
  // Required fields first, then claims, then optional fields.
  const order = (name: string) => (schema.required?.includes(name) ? 0 : name === 'claims' ? 1 : 2);
  return (
    <>
      {members
        .sort(([one], [other]) => order(one) - order(other))
        .map(([name, member]) => (
          <Field
            {...rest}
            key={name}
            name={name}
            path={path === '' ? name : `${path}.${name}`}
            schema={{ ...resolveRef(member, rest.schemas), ...(hints[name] && { description: hints[name] }) }}
            isRequired={schema.required?.includes(name) ?? false}
            value={value[name]}
            change={(to) => change({ ...value, [name]: to })}
          />
        ))}
    </>
  );
}

function Field(props: FieldProps): JSX.Element {
  const { name, path, schema, value, isRequired, isInAbsentGroup = false, change } = props;
  const id = useId();
  const problems = props.problems.at(path);
  const hint = schema.description;
  const hasProblem = props.problems.isWithin(path);
  // Empty optional groups start collapsed. Decided only once, because switching elements while the user types would
  // lose focus.
  const [isCollapsible] = useState(!isRequired && value === undefined && schema.properties !== undefined);
  const described = { id, 'aria-describedby': `${id}-hint`, 'aria-invalid': problems.length > 0 };
  if (isClaims(schema) || (schema.type === 'array' && schema.items?.type !== 'string') || schema.properties) {
    const content = (
      <>
        <Problems id={`${id}-hint`} problems={problems} hint={hint} />
        <Group {...props} />
      </>
    );
    return isCollapsible ? (
      <details class="field group" open={hasProblem || undefined}>
        <summary>
          {labelOf(name)} <span class="muted">optional</span>
        </summary>
        {content}
      </details>
    ) : (
      <fieldset class="field group">
        <legend>
          {labelOf(name)} {!isRequired && <span class="muted">optional</span>}
        </legend>
        {content}
      </fieldset>
    );
  }
  if (schema.type === 'boolean')
    return (
      <div class="field">
        <label class="check">
          <input
            {...described}
            type="checkbox"
            checked={value === true}
            onChange={(event) => change(event.currentTarget.checked || undefined)}
          />{' '}
          {labelOf(name)}
        </label>
        <Problems id={`${id}-hint`} problems={problems} hint={hint} />
      </div>
    );
  return (
    <div class="field">
      <label for={id}>
        {labelOf(name)} {!isRequired && <span class="muted">optional</span>}
      </label>
      {schema.type === 'array' ? (
        <textarea
          {...described}
          rows={2}
          class="code-field"
          value={[value ?? []].flat().join('\n')}
          placeholder="One per line"
          onInput={(event) => change(event.currentTarget.value.split('\n'))}
          onBlur={(event) =>
            change(
              event.currentTarget.value
                .split('\n')
                .map((line) => line.trim())
                .filter(Boolean),
            )
          }
        />
      ) : (
        <input
          {...described}
          type="text"
          autocomplete="off"
          spellcheck={false}
          required={isRequired && !isInAbsentGroup}
          value={typeof value === 'string' ? value : ''}
          placeholder={typeof schema.example === 'string' ? `for example ${schema.example}` : ''}
          onInput={(event) => change(event.currentTarget.value)}
        />
      )}
      <Problems id={`${id}-hint`} problems={problems} hint={hint} />
    </div>
  );
}

function Group(props: FieldProps): JSX.Element {
  const { schema, schemas, path, value, problems, isRequired, change } = props;
  if (isClaims(schema))
    return <ClaimsEditor claims={(value ?? {}) as Claims} change={change} label={pathLabel(path)} />;
  if (schema.properties)
    return (
      <SchemaFields
        schema={schema}
        schemas={schemas}
        path={path}
        problems={problems}
        isInAbsentGroup={!isRequired && value === undefined}
        value={(value ?? {}) as Values}
        change={(to) =>
          change(Object.values(to).every((member) => member === undefined || member === '') ? undefined : to)
        }
      />
    );
  const items = (Array.isArray(value) ? value : []) as readonly Values[];
  const item = resolveRef(schema.items ?? {}, schemas);
  return (
    <>
      {items.map((each, index) => (
        <div class="block" key={index}>
          <SchemaFields
            schema={item}
            schemas={schemas}
            path={`${path}[${index}]`}
            problems={problems}
            value={each}
            change={(to) => change(items.map((one, at) => (at === index ? to : one)))}
          />
          <button type="button" class="small" onClick={() => change(items.filter((_, at) => at !== index))}>
            Remove
          </button>
        </div>
      ))}
      <button type="button" class="small" onClick={() => change([...items, {}])}>
        Add
      </button>
    </>
  );
}

/** `anonymous.claims` → `Anonymous claims`: a form can contain several claims editors. */
function pathLabel(path: string): string {
  return labelOf(path.replaceAll(/[.[\]]+/g, ' ').trim());
}
