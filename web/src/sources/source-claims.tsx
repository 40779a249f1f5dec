import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Claims, Me, Source } from '../api/types.js';
import { ClaimsEditor } from '../claims/claims-editor.js';
import { claimPairs, heldClaims, isProtocolClaim } from '../claims/claims.js';
import { OneOf } from '../forms/fields.js';
import { useSession } from '../session/session.js';
import { escapeInvisible } from '../ui/untrusted-text.js';

/** Kinds whose entries have the claims of the source; entries of other kinds have their own. */
const INHERITING: Readonly<Record<Source['kind'], boolean>> = {
  file: true,
  git: true,
  api: true,
  kubernetes: false,
  managed: false,
};

/** Whether only super-admins see the entries of the source, on a server that checks claims. */
export function isUnlabeled({ kind, claims }: Pick<Source, 'kind' | 'claims'>): boolean {
  return INHERITING[kind] && Object.keys(claims).length === 0;
}

/** Default claims of a new source: the caller's organization, if their token contains one. */
export function firstClaims(me: Me | null): Claims | undefined {
  const pair = ownPairs(me).find(([key]) => /^(org|tenant|company)/i.test(key));
  return pair && { [pair[0]]: pair[1] };
}

function ownPairs(me: Me | null): [string, string][] {
  return claimPairs(heldClaims(me)).filter((pair) => !isProtocolClaim(pair));
}

interface Props {
  readonly kind: Source['kind'];
  /** Undefined until an option is chosen. */
  readonly claims: Claims | undefined;
  readonly change: (claims: Claims | undefined) => void;
  readonly problems: readonly string[];
}

type Audience = 'everyone' | 'these' | 'nobody';

/**
 * Who sees and manages the entries of a source. This must be chosen, because a source without claims hides its entries.
 */
export function SourceClaims({ kind, claims, change, problems }: Props): JSX.Element {
  const { settings, me } = useSession();
  const [audience, setAudience] = useState(() => audienceOf(claims, me));
  const choose = (to: Audience) => {
    setAudience(to);
    change(to === 'nobody' ? {} : to === 'everyone' ? firstClaims(me) : claims && nonEmpty(claims));
  };
  const editor = <ClaimsEditor label="Claims" claims={claims ?? {}} change={(to) => change(nonEmpty(to))} />;
  if (!settings.checksClaims)
    return (
      <details class="field group">
        <summary>
          Claims <span class="muted">optional</span>
        </summary>
        <p class="hint">This server checks no claims: everybody who can log in sees all entries.</p>
        <ClaimsEditor label="Claims" claims={claims ?? {}} change={change} />
      </details>
    );
  const isInheriting = INHERITING[kind];
  const pairs = ownPairs(me);
  return (
    <OneOf
      label={isInheriting ? 'Who sees its entries and may manage it?' : 'Who may manage it?'}
      name="source-claims"
      options={[
        ...(pairs.length > 0 ? [['everyone', 'Everyone in …'] as const] : []),
        ['these', 'People with these claims'],
        ['nobody', isInheriting ? 'Super-admins only' : 'Everyone who manages sources'],
      ]}
      value={audience}
      change={choose}
    >
      {audience === 'everyone' && <OwnClaim pairs={pairs} claims={claims} change={change} />}
      {audience === 'these' && editor}
      {audience === 'nobody' && isInheriting && (
        <p class="notice">Nobody else sees its entries, whichever registry shows the source.</p>
      )}
      {audience !== 'nobody' && (
        <p class="hint">
          {claims === undefined && 'Choose at least one claim. '}
          {isInheriting
            ? 'People must hold all of these, and the claims of a registry that shows the source.'
            : 'People must hold all of these. Entries have their own claims.'}
        </p>
      )}
      {problems.map((problem) => (
        <p class="problem" key={problem}>
          {escapeInvisible(problem)}
        </p>
      ))}
    </OneOf>
  );
}

function OwnClaim({
  pairs,
  claims,
  change,
}: Pick<Props, 'claims' | 'change'> & { pairs: readonly [string, string][] }): JSX.Element {
  const [chosen] = claimPairs(claims ?? {});
  return (
    <select
      aria-label="Everyone in"
      value={chosen ? JSON.stringify(chosen) : ''}
      onChange={({ currentTarget: { value } }) => {
        const [key = '', each = ''] = value === '' ? [] : (JSON.parse(value) as [string, string]);
        change(key === '' ? undefined : { [key]: each });
      }}
    >
      <option value="">Choose one of your claims</option>
      {pairs.map(([key, value]) => (
        <option key={`${key} ${value}`} value={JSON.stringify([key, value])}>
          {escapeInvisible(`${key} ${value}`)}
        </option>
      ))}
    </select>
  );
}

function audienceOf(claims: Claims | undefined, me: Me | null): Audience {
  const pairs = claimPairs(claims ?? {});
  const [first, ...others] = pairs;
  if (claims && !first) return 'nobody';
  if (!first) return ownPairs(me).length > 0 ? 'everyone' : 'these';
  const isOwn = ownPairs(me).some(([key, value]) => key === first[0] && value === first[1]);
  return isOwn && others.length === 0 ? 'everyone' : 'these';
}

function nonEmpty(claims: Claims): Claims | undefined {
  return Object.keys(claims).length === 0 ? undefined : claims;
}
