import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/**
 * Text input that reports changes after a pause in typing. A new `value`, from the back button or a link, replaces the
 * typed text.
 */
export function useDebouncedText(
  value: string,
  change: (text: string) => void,
  pauseMs: number,
): [text: string, type: (text: string) => void] {
  const [text, setText] = useState(value);
  const sent = useRef(value);
  const latest = useRef(change);
  latest.current = change;
  useEffect(() => {
    if (value === sent.current) return;
    sent.current = value;
    setText(value);
  }, [value]);
  useEffect(() => {
    const typed = text.trim();
    if (typed === sent.current) return undefined;
    const timer = setTimeout(() => {
      sent.current = typed;
      latest.current(typed);
    }, pauseMs);
    return () => clearTimeout(timer);
  }, [text, pauseMs]);
  return [text, setText];
}

interface SelectFilterProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly string[];
  readonly none?: string;
  /** Texts shown for options. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly change: (value: string) => void;
}

/** Keeps an unknown value from the URL as an option; the API decides whether it is valid. */
export function SelectFilter({
  label,
  value,
  options,
  none = 'any',
  labels = {},
  change,
}: SelectFilterProps): JSX.Element {
  return (
    <label class="choice">
      <span>{label}</span>
      <select value={value} onChange={(event) => change(event.currentTarget.value)}>
        <option value="">{none}</option>
        {[...new Set([...options, ...(value === '' ? [] : [value])])].map((option) => (
          <option key={option} value={option}>
            {labels[option] ?? option}
          </option>
        ))}
      </select>
    </label>
  );
}

const TYPING_DELAY_MS = 300;

interface TextFilterProps {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly change: (value: string) => void;
}

export function TextFilter({ label, placeholder, value, change }: TextFilterProps): JSX.Element {
  const [text, type] = useDebouncedText(value, change, TYPING_DELAY_MS);
  return (
    <label class="choice">
      <span>{label}</span>
      <input
        type="search"
        placeholder={placeholder}
        maxLength={300}
        spellcheck={false}
        autocomplete="off"
        value={text}
        onInput={(event) => type(event.currentTarget.value)}
      />
    </label>
  );
}

interface ChoicesProps {
  readonly label: string;
  /** Name of the radio buttons, unique on the page. */
  readonly name: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, title: string])[];
  readonly change: (value: string) => void;
}

/** A choice between a few values, all visible. */
export function Choices({ label, name, value, options, change }: ChoicesProps): JSX.Element {
  return (
    <div class="segments" role="radiogroup" aria-label={label}>
      {options.map(([option, title]) => (
        <label key={option}>
          <input type="radio" name={name} checked={option === value} onChange={() => change(option)} />
          <span>{title}</span>
        </label>
      ))}
    </div>
  );
}
