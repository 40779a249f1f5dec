import type { JSX, TargetedFocusEvent } from 'preact';
import { useState } from 'preact/hooks';
import type { Claims } from '../api/types.js';
import { Plain } from '../ui/plain.js';
import { visible } from '../ui/visible.js';
import { pairsIn, withClaim, withoutClaim } from './claim-pairs.js';

interface Props {
  readonly claims: Claims;
  readonly change: (claims: Claims) => void;
  readonly label: string;
}

/** Claims by key and value; a key that is added again takes a list. */
export function ClaimsEditor({ claims, change, label }: Props): JSX.Element {
  const [key, setKey] = useState('');
  const [value, setValue] = useState('');
  const add = () => {
    if (key.trim() === '' || value.trim() === '') return;
    change(withClaim(claims, key.trim(), value.trim()));
    setValue('');
    setKey('');
  };
  const press = (event: KeyboardEvent) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    add();
  };
  // What was typed counts, whether or not somebody has pressed the button: a claim that is left out opens what it should close.
  const leave = ({ currentTarget, relatedTarget }: TargetedFocusEvent<HTMLElement>) => {
    if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) add();
  };
  return (
    <div class="claims-editor">
      <span class="claims-add" onFocusOut={leave}>
        {(
          [
            ['key', key, setKey],
            ['value', value, setValue],
          ] as const
        ).map(([part, text, type]) => (
          <input
            key={part}
            type="text"
            aria-label={`${label}: ${part}`}
            placeholder={part}
            value={text}
            spellcheck={false}
            autocomplete="off"
            autocapitalize="off"
            onInput={(event) => type(event.currentTarget.value)}
            onKeyDown={press}
          />
        ))}
        <button type="button" class="small" onClick={add} disabled={key.trim() === '' || value.trim() === ''}>
          Add
        </button>
      </span>
      <span class="chips">
        {pairsIn(claims).map(([name, each]) => (
          <span class="chip" key={`${name} ${each}`}>
            <Plain text={name} class="chip-key" /> <Plain text={each} />
            <button
              type="button"
              aria-label={visible(`Remove ${name} ${each}`)}
              onClick={() => change(withoutClaim(claims, name, each))}
            >
              ✕
            </button>
          </span>
        ))}
      </span>
    </div>
  );
}
