import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Claims } from '../api/types.js';
import { Plain } from '../ui/plain.js';

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
  return (
    <div class="claims-editor">
      <span class="chips">
        {pairsIn(claims).map(([name, each]) => (
          <span class="chip" key={`${name} ${each}`}>
            <Plain text={name} class="chip-key" /> <Plain text={each} />
            <button
              type="button"
              aria-label={`Remove ${name} ${each}`}
              onClick={() => change(withoutClaim(claims, name, each))}
            >
              ✕
            </button>
          </span>
        ))}
      </span>
      <span class="claims-add">
        <input
          type="text"
          aria-label={`${label}: key`}
          placeholder="key"
          value={key}
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => setKey(event.currentTarget.value)}
          onKeyDown={press}
        />
        <input
          type="text"
          aria-label={`${label}: value`}
          placeholder="value"
          value={value}
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => setValue(event.currentTarget.value)}
          onKeyDown={press}
        />
        <button type="button" class="small" onClick={add} disabled={key.trim() === '' || value.trim() === ''}>
          Add
        </button>
      </span>
    </div>
  );
}

export function pairsIn(claims: Claims): [string, string][] {
  return Object.entries(claims).flatMap(([key, value]) =>
    [value].flat().map((each): [string, string] => [key, each]),
  );
}

export function withClaim(claims: Claims, key: string, value: string): Claims {
  const before = Object.hasOwn(claims, key) ? [claims[key] ?? []].flat() : [];
  if (before.includes(value)) return claims;
  const after = [...before, value];
  return Object.fromEntries([
    ...Object.entries(claims).filter(([name]) => name !== key),
    [key, after.length === 1 ? value : after],
  ]);
}

export function withoutClaim(claims: Claims, key: string, value: string): Claims {
  return Object.fromEntries(
    Object.entries(claims).flatMap(([name, held]) => {
      if (name !== key) return [[name, held] as const];
      const left = [held].flat().filter((each) => each !== value);
      return left.length === 0 ? [] : [[name, Array.isArray(held) ? left : (left[0] ?? '')] as const];
    }),
  );
}
