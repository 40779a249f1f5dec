import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import { UntrustedText } from '../ui/untrusted-text.js';
import { askKey, type Field, type Values } from './install-values.js';

interface Props {
  readonly fields: readonly Field[];
  readonly values: Values;
  readonly change: (to: Values) => void;
  /** The client that asks for secrets itself. */
  readonly asks?: string | undefined;
}

/** The values that a server needs. They stay on the page and are neither sent nor stored. */
export function ValueForm({ fields: all, values, change, asks = '' }: Props): JSX.Element {
  // The same value may be needed in several places.
  const fields = [...new Map(all.map((field) => [field.name, field])).values()];
  const prompted = fields.filter(({ from, isRequired }) => from === 'prompt' && isRequired);
  const required = fields.filter(({ from, isRequired }) => from === 'form' && isRequired);
  const optional = fields.filter(({ from, isRequired }) => !isRequired && from !== 'environment');
  const rows = (some: readonly Field[]) =>
    some.map((field) => (
      <ValueField key={field.name} field={field} values={values} change={change} asks={asks} />
    ));
  if (prompted.length + required.length + optional.length === 0) return <></>;
  return (
    <div class="values" role="group" aria-label="Values">
      {required.length > 0 && <div class="value-fields">{rows(required)}</div>}
      {prompted.length > 0 && (
        <p class="small-text">
          {asks} asks for{' '}
          {prompted.map(({ name }, index) => (
            <span key={name}>
              {index > 0 && ', '}
              <UntrustedText text={name} class="mono break" />
            </span>
          ))}{' '}
          and keeps {prompted.length > 1 ? 'them' : 'it'} for you.
        </p>
      )}
      {optional.length > 0 && (
        <details>
          <summary>
            Optional values <span class="muted">{optional.length}</span>
          </summary>
          <div class="value-fields">{rows(optional)}</div>
        </details>
      )}
      {fields.some(({ from, isSecret }) => from === 'form' && isSecret) && (
        <p class="muted small-text">What you enter stays in this tab.</p>
      )}
    </div>
  );
}

interface FieldProps extends Omit<Props, 'fields'> {
  readonly field: Field;
}

function ValueField({ field, values, change, asks }: FieldProps): JSX.Element {
  const { name, description, isSecret, isRequired, choices, from } = field;
  const id = useId();
  const label = <UntrustedText text={name} class="mono break" />;
  const hint = description !== '' && description !== name && (
    <p class="hint" id={`${id}-hint`}>
      <UntrustedText text={description} class="break" />
    </p>
  );
  const described = hint ? { 'aria-describedby': `${id}-hint` } : {};
  if (from === 'prompt')
    return asks === 'ToolHive' ? (
      <div class="field">
        <p>
          {label} <span class="muted">secret, with thv secret set</span>
        </p>
        {hint}
      </div>
    ) : (
      <div class="field">
        <label class="check">
          <input
            type="checkbox"
            checked={Boolean(values[askKey(name)])}
            onChange={({ currentTarget }) => change({ [askKey(name)]: currentTarget.checked ? 'yes' : '' })}
            {...described}
          />
          {label} <span class="muted">{asks} asks for it</span>
        </label>
        {hint}
      </div>
    );
  const value = Object.hasOwn(values, name) ? (values[name] ?? '') : '';
  return (
    <div class="field">
      <label for={id}>
        {label} {isSecret && <span class="muted">secret</span>}
      </label>
      {choices.length > 0 ? (
        <select
          id={id}
          value={value}
          required={isRequired}
          onChange={({ currentTarget }) => change({ [name]: currentTarget.value })}
          {...described}
        >
          <option value="">–</option>
          {choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          {...(isSecret ? ({ type: 'password' } as const) : ({ type: 'text' } as const))}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          required={isRequired}
          value={value}
          onInput={({ currentTarget }) => change({ [name]: currentTarget.value })}
          {...described}
        />
      )}
      {hint}
    </div>
  );
}
