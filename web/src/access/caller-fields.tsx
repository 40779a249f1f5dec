import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ClaimsEditor } from '../claims/claims-editor.js';
import { heldClaims } from '../claims/claims.js';
import { useSession } from '../session/session.js';
import { type AssumedCaller, claimsInToken, providerOf, WAYS } from './caller.js';

type Way = (typeof WAYS)[number];
type TokenOf = Extract<AssumedCaller, { token: unknown }>['token'];

const LABELS: Readonly<Record<Way, string>> = {
  claims: 'Someone with these claims',
  token: 'The holder of a token',
  anonymous: 'Someone without a token',
  key: 'The holder of a key',
};

/** Selects the caller of a question: the user, or one of the callers that the API knows. */
export function CallerFields({
  caller,
  change,
}: {
  caller: AssumedCaller | null;
  change: (to: AssumedCaller | null) => void;
}): JSX.Element {
  const { me } = useSession();
  const first: Readonly<Record<Way, AssumedCaller>> = {
    claims: { claims: heldClaims(me) },
    token: { token: { provider: '', claims: {} } },
    anonymous: { anonymous: true },
    key: { key: '' },
  };
  return (
    <fieldset class="field">
      <legend class="label">Who</legend>
      <label class="check">
        <input type="radio" name="who" checked={caller === null} onChange={() => change(null)} /> Me
      </label>
      {WAYS.map((way) => (
        <label class="check" key={way}>
          <input
            type="radio"
            name="who"
            checked={caller !== null && way in caller}
            onChange={() => change(first[way])}
          />{' '}
          {LABELS[way]}
        </label>
      ))}
      {caller && 'claims' in caller && (
        <>
          <ClaimsEditor label="Claim" claims={caller.claims} change={(claims) => change({ claims })} />
          <p class="hint muted">
            Starts with your claims. Colleagues find theirs under “My claims” in the account menu.
          </p>
        </>
      )}
      {caller && 'token' in caller && (
        <TokenFields token={caller.token} change={(token) => change({ token })} />
      )}
      {caller && 'key' in caller && (
        <div class="field">
          <label for="access-key">Name of the key</label>
          <input
            id="access-key"
            required
            autocomplete="off"
            spellcheck={false}
            value={caller.key}
            onInput={(event) => change({ key: event.currentTarget.value })}
          />
        </div>
      )}
    </fieldset>
  );
}

/** A token is decoded here and replaced by its claims; the token itself is not sent. */
function TokenFields({ token, change }: { token: TokenOf; change: (to: TokenOf) => void }): JSX.Element {
  const { logins } = useSession().settings;
  const { provider, claims } = token;
  const [text, setText] = useState(Object.keys(claims).length === 0 ? '' : shown(claims));
  const read = (typed: string) => {
    const found = claimsInToken(typed);
    setText(found && !typed.trim().startsWith('{') ? shown(found) : typed);
    change({ provider: (found && providerOf(found, logins)) || provider, claims: found ?? {} });
  };
  const isUnreadable = text.trim() !== '' && claimsInToken(text) === null;
  return (
    <>
      <div class="field">
        <label for="access-token">Token or its claims</label>
        <textarea
          id="access-token"
          class="mono"
          rows={8}
          required
          autocomplete="off"
          spellcheck={false}
          aria-describedby="access-token-hint"
          value={text}
          onInput={(event) => read(event.currentTarget.value)}
        />
        <p id="access-token-hint" class="hint muted">
          {isUnreadable
            ? 'This is neither a JWT nor a JSON object.'
            : 'A token is decoded in the browser; only its claims are sent.'}
        </p>
      </div>
      <div class="field">
        <label for="access-provider">Provider</label>
        <input
          id="access-provider"
          list="access-providers"
          required
          autocomplete="off"
          spellcheck={false}
          value={provider}
          onInput={(event) => change({ claims, provider: event.currentTarget.value })}
        />
        <datalist id="access-providers">
          {logins.map((login) => (
            <option key={login.provider} value={login.provider} />
          ))}
        </datalist>
      </div>
    </>
  );
}

function shown(claims: Record<string, unknown>): string {
  return JSON.stringify(claims, null, 2);
}
