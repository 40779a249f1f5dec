import type { JSX } from 'preact';
import { api, unwrap } from '../api/client.js';
import type { Failure } from '../api/client.js';
import type { Claims, EntryType } from '../api/types.js';
import { ClaimChips, claimsKey } from '../claims/claims-editor.js';
import { claimPairs } from '../claims/claims.js';
import { useQuery } from '../ui/query.js';
import { Refusal } from '../ui/refusal.js';
import { UntrustedText } from '../ui/untrusted-text.js';

interface Props {
  readonly type: EntryType;
  readonly name: string;
  readonly claims: Claims;
  readonly use: (claims: Claims) => void;
  /** Shown instead if the caller cannot see the published entry. */
  readonly failure: Failure;
}

/** Names the claims that differ from the published entry's. */
export function ClaimsMismatch({ type, name, claims, use, failure }: Props): JSX.Element {
  const query = useQuery(`${type} ${name}`, (signal) =>
    unwrap(api.GET('/v1/entries/{type}/{name}', { params: { path: { type, name } }, signal })),
  );
  const stored = query.value?.claims as Claims | undefined;
  if (query.failure) return <Refusal failure={failure} />;
  if (!stored || claimsKey(stored) === claimsKey(claims)) return <></>;
  return (
    <div class="notice">
      <p>
        All versions of an entry have the same claims. This entry has <ClaimChips claims={stored} />
      </p>
      <ClaimList label="Missing here" claims={without(stored, claims)} />
      <ClaimList label="Only here" claims={without(claims, stored)} />
      <p class="below">
        <button type="button" class="small" onClick={() => use(stored)}>
          Use the claims of the entry
        </button>
      </p>
    </div>
  );
}

function ClaimList({ label, claims }: { label: string; claims: readonly string[] }): JSX.Element {
  if (claims.length === 0) return <></>;
  return (
    <p>
      {label}: <UntrustedText text={claims.join(', ')} class="break" />
    </p>
  );
}

function without(claims: Claims, others: Claims): string[] {
  const known = new Set(claimPairs(others).map((pair) => JSON.stringify(pair)));
  return claimPairs(claims)
    .filter((pair) => !known.has(JSON.stringify(pair)))
    .map(([key, value]) => `${key} ${value}`);
}
