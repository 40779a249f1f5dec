import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';
import { UntrustedText } from '../ui/untrusted-text.js';

interface ProblemsProps {
  readonly id: string;
  readonly problems: readonly string[];
  readonly hint?: ComponentChildren;
}

/** The help and the problems of a field; `id` is for the field's `aria-describedby`. */
export function Problems({ id, problems, hint }: ProblemsProps): JSX.Element {
  return (
    <div id={id}>
      {hint !== undefined && <p class="hint">{hint}</p>}
      {problems.map((problem) => (
        <p class="problem" key={problem}>
          <UntrustedText text={problem} class="break" />
        </p>
      ))}
    </div>
  );
}

interface TextFieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly value: unknown;
  readonly change: (value: string) => void;
  readonly problems: readonly string[];
  readonly isRequired?: boolean;
  readonly placeholder?: string;
  /** Suggested values. */
  readonly suggestions?: readonly string[];
}

/** A line of text. */
export function TextField(props: TextFieldProps): JSX.Element {
  const { label, hint, value, change, problems, isRequired = false, placeholder, suggestions } = props;
  const id = useId();
  return (
    <div class="field">
      <label for={id}>
        {label} {!isRequired && <span class="muted">optional</span>}
      </label>
      <input
        id={id}
        type="text"
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        required={isRequired}
        aria-describedby={`${id}-hint`}
        aria-invalid={problems.length > 0}
        list={suggestions && `${id}-list`}
        placeholder={placeholder}
        value={typeof value === 'string' ? value : ''}
        onInput={(event) => change(event.currentTarget.value)}
      />
      {suggestions && (
        <datalist id={`${id}-list`}>
          {suggestions.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
      <Problems id={`${id}-hint`} problems={problems} hint={hint} />
    </div>
  );
}

interface LinesFieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly value: unknown;
  readonly change: (lines: string[]) => void;
  readonly problems: readonly string[];
}

/** A list of texts, one per line. */
export function LinesField({ label, hint, value, change, problems }: LinesFieldProps): JSX.Element {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        rows={2}
        class="code-field"
        aria-describedby={`${id}-hint`}
        aria-invalid={problems.length > 0}
        placeholder="One per line"
        value={[value ?? []].flat().join('\n')}
        onInput={(event) => change(event.currentTarget.value.split('\n'))}
      />
      <Problems id={`${id}-hint`} problems={problems} hint={hint} />
    </div>
  );
}

interface OneOfProps<K extends string> {
  readonly label: string;
  /** Name of the radio buttons, unique on the page. */
  readonly name: string;
  readonly options: readonly (readonly [value: K, title: string])[];
  readonly value: K;
  readonly change: (value: K) => void;
  /** The fields of the chosen option. */
  readonly children?: ComponentChildren;
}

/** A choice between alternatives; only the fields of the chosen one are shown. */
export function OneOf<K extends string>(props: OneOfProps<K>): JSX.Element {
  const { label, name, options, value, change, children } = props;
  return (
    <fieldset class="field">
      <legend class="label">{label}</legend>
      {options.map(([option, title]) => (
        <label key={option} class="check">
          <input type="radio" name={name} checked={option === value} onChange={() => change(option)} />{' '}
          {title}
        </label>
      ))}
      {children}
    </fieldset>
  );
}
