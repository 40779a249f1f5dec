import type { JSX, TargetedFocusEvent } from 'preact';
import { useState } from 'preact/hooks';
import type { Claims } from '../api/types.js';
import { useSession } from '../session/session.js';
import { escapeInvisible, UntrustedText } from '../ui/untrusted-text.js';
import { claimPairs, heldClaims, isProtocolClaim, withClaim, withoutClaim } from './claims.js';

/** Claims as read-only chips. */
export function ClaimChips({ claims, none = 'no claims' }: { claims: Claims; none?: string }): JSX.Element {
  const entries = Object.entries(claims);
  if (entries.length === 0) return <span class="muted">{none}</span>;
  return (
    <span class="chips">
      {entries.map(([key, value]) => (
        <span class="chip" key={key}>
          <UntrustedText text={key} class="chip-key" /> <UntrustedText text={[value].flat().join(', ')} />
        </span>
      ))}
    </span>
  );
}

/** A key that does not depend on the order of claims or values. */
export function claimsKey(claims: Claims): string {
  const sorted = Object.entries(claims).map(([key, value]) => [key, [value].flat().sort()] as const);
  return JSON.stringify(sorted.sort(([one], [other]) => (one < other ? -1 : 1)));
}

interface EditorProps {
  readonly claims: Claims;
  readonly change: (claims: Claims) => void;
  readonly label: string;
}

/** Adds and removes claims by key and value. */
export function ClaimsEditor({ claims, change, label }: EditorProps): JSX.Element {
  const [key, setKey] = useState('');
  const [value, setValue] = useState('');
  const add = () => {
    if (key.trim() === '' || value.trim() === '') return;
    change(withClaim(claims, key.trim(), value.trim()));
    setValue('');
    setKey('');
  };
  const addOnEnter = (event: KeyboardEvent) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    add();
  };
  // Adds typed text when focus leaves the fields: losing a claim would widen access.
  const addOnBlur = ({ currentTarget, relatedTarget }: TargetedFocusEvent<HTMLElement>) => {
    if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) add();
  };
  return (
    <div class="claims-editor">
      <span class="claims-add" onFocusOut={addOnBlur}>
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
            onKeyDown={addOnEnter}
          />
        ))}
        <button type="button" class="small" onClick={add} disabled={key.trim() === '' || value.trim() === ''}>
          Add
        </button>
      </span>
      <span class="chips">
        {claimPairs(claims).map(([name, each]) => (
          <span class="chip" key={`${name} ${each}`}>
            <UntrustedText text={name} class="chip-key" /> <UntrustedText text={each} />
            <button
              type="button"
              aria-label={escapeInvisible(`Remove ${name} ${each}`)}
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

interface PickerProps {
  readonly claims: Claims;
  readonly change: (claims: Claims) => void;
}

/** Offers the claims of the caller's token; others can be typed. */
export function ClaimPicker({ claims, change }: PickerProps): JSX.Element {
  const { me } = useSession();
  const own = claimPairs(heldClaims(me));
  const usual = own.filter((pair) => !isProtocolClaim(pair));
  // Offered under "Other claims".
  const rest = own.filter(isProtocolClaim);
  const isHeld = (key: string, value: string) => own.some(([name, each]) => name === key && each === value);
  const others = Object.fromEntries(
    Object.entries(claims).flatMap(([key, value]) => {
      const left = [value].flat().filter((each) => !isHeld(key, each));
      return left.length === 0 ? [] : [[key, left.length === 1 ? (left[0] ?? '') : left] as const];
    }),
  );
  return (
    <>
      <Choices pairs={usual} claims={claims} change={change} />
      <details class="more-claims" open={own.length === 0 || undefined}>
        <summary>{own.length === 0 ? 'Claims' : 'Other claims'}</summary>
        <Choices pairs={rest} claims={claims} change={change} />
        <ClaimsEditor
          label="Claim"
          claims={others}
          change={(to) => {
            const kept = claimPairs(claims).filter(([key, value]) => isHeld(key, value));
            change(
              [...kept, ...claimPairs(to)].reduce<Claims>(
                (all, [key, value]) => withClaim(all, key, value),
                {},
              ),
            );
          }}
        />
      </details>
    </>
  );
}

function Choices({
  pairs,
  claims,
  change,
}: PickerProps & { pairs: readonly [string, string][] }): JSX.Element {
  return (
    <span class="chips choices">
      {pairs.map(([key, value]) => {
        const isOn = claimPairs(claims).some(([name, each]) => name === key && each === value);
        return (
          <button
            type="button"
            class="chip"
            key={`${key} ${value}`}
            aria-pressed={isOn}
            onClick={() => change(isOn ? withoutClaim(claims, key, value) : withClaim(claims, key, value))}
          >
            <UntrustedText text={key} class="chip-key" /> <UntrustedText text={value} />
          </button>
        );
      })}
    </span>
  );
}
