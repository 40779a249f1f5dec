import type { JSX } from 'preact';
import type { Claims } from '../api/types.js';
import { pairsIn, withClaim, withoutClaim } from '../forms/claim-pairs.js';
import { ClaimsEditor } from '../forms/claims-editor.js';
import { heldClaims } from '../session/held-claims.js';
import { useSession } from '../session/session.js';
import { Plain } from '../ui/plain.js';

/** What every token carries about itself: rarely what an entry is for. */
const OF_THE_TOKEN = new Set([
  'iss',
  'aud',
  'sub',
  'azp',
  'scope',
  'client_id',
  'sid',
  'typ',
  'auth_time',
  'acr',
  'amr',
]);
interface Props {
  readonly claims: Claims;
  readonly change: (claims: Claims) => void;
}

/** The claims of one's own token, to be picked; others can be named. */
export function OwnClaims({ claims, change }: Props): JSX.Element {
  const { me } = useSession();
  const own = pairsIn(heldClaims(me));
  const usual = own.filter(([key]) => !OF_THE_TOKEN.has(key));
  const rest = own.filter(([key]) => OF_THE_TOKEN.has(key));
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
            const kept = pairsIn(claims).filter(([key, value]) => isHeld(key, value));
            change(
              [...kept, ...pairsIn(to)].reduce<Claims>((all, [key, value]) => withClaim(all, key, value), {}),
            );
          }}
        />
      </details>
    </>
  );
}

function Choices({ pairs, claims, change }: Props & { pairs: readonly [string, string][] }): JSX.Element {
  return (
    <span class="chips choices">
      {pairs.map(([key, value]) => {
        const isOn = pairsIn(claims).some(([name, each]) => name === key && each === value);
        return (
          <button
            type="button"
            class="chip"
            key={`${key} ${value}`}
            aria-pressed={isOn}
            onClick={() => change(isOn ? withoutClaim(claims, key, value) : withClaim(claims, key, value))}
          >
            <Plain text={key} class="chip-key" /> <Plain text={value} />
          </button>
        );
      })}
    </span>
  );
}
