import { Injectable } from '@nestjs/common';
import { Authenticator } from '../auth/auth.guard.js';
import { type Caller, UNIDENTIFIED_CALLER } from '../auth/caller.js';
import { AccessPolicy } from '../authz/access-policy.js';
import { OpenAccess } from '../authz/admin-access.js';
import { canonicalClaims, type Claims } from '../claims/claims.js';
import type { RegistryConfig } from '../config/config.js';
import { isExpired } from '../config/registry-keys.js';
import type { RegistryBody } from '../config/registry-settings.dto.js';
import { ApiError } from '../http/errors.js';
import { isPauseDue, pauseIfDue } from '../limits/time-slice.js';
import { RegistriesService } from '../registries/registries.service.js';
import type { Registry } from '../registries/registry.entity.js';
import { KINDS } from '../source-kinds/kinds.js';
import type { SourceBody } from '../source-kinds/source-settings.dto.js';
import type { Source } from '../sources/source.entity.js';
import { SourcesService } from '../sources/sources.service.js';
import type { AccessChange, AccessChanges } from './explain.dto.js';
import { ClaimSetCounts, type NameGroup, type NamePlace } from './explain.queries.js';
import { rightsOf } from './knowledge.js';
import {
  alternatives,
  EVERYBODY,
  joined,
  requirementOf,
  sentenceOf,
  SUPER_ADMINS,
  WITHOUT_CLAIMS,
} from './requirements.js';

/** Who sees which names before or after a change. */
interface Side {
  /** The claims of the registry; null for a change to a source, which leaves registries unchanged. */
  readonly gate: Claims | null;
  /** The order of precedence by source id. */
  readonly ranks: ReadonlyMap<number, number>;
  /** Undefined if the claims were not read. */
  readonly claimsAt: (place: NamePlace) => Claims | undefined;
  readonly opening: Pick<RegistryConfig, 'anonymousClaims' | 'keys'>;
}

/** Callers whose access is compared; null on a side where they are refused. */
interface ComparedCallers {
  readonly sentence: string;
  readonly claims?: Claims;
  readonly before: Caller | null;
  readonly after: Caller | null;
}

/** The source that provides each group of names; null if none does. */
type Providers = readonly (number | null)[];

/** Maximum number of claims for which access is compared, and of alternatives for one claim set. */
const MAX_COMPARED = 200;
const MAX_LISTED = 20;
const NOT_OPEN = { anonymousClaims: null, keys: [] };

/**
 * Compares who sees what before and after a change to a source or registry that has not been made yet
 * (reference/explain). Callers are represented by the smallest claims that let somebody see an entry before or after.
 */
@Injectable()
export class AccessChangesService {
  constructor(
    private readonly registries: RegistriesService,
    private readonly sources: SourcesService,
    private readonly counts: ClaimSetCounts,
    private readonly policy: AccessPolicy,
    private readonly openAccess: OpenAccess,
    private readonly authenticator: Authenticator,
  ) {}

  /**
   * @param stored null for a new registry, which nobody could enter before.
   * @throws ApiError as for a PUT with these settings.
   */
  async ofRegistry(
    asker: Caller,
    name: string,
    body: RegistryBody,
    stored: Registry | null,
  ): Promise<AccessChanges> {
    const { declared, sources } = await this.registries.propose(asker, name, body, stored);
    const held = stored?.sources.map(({ sourceId }) => sourceId) ?? [];
    // A manager of a registry sees the entries of its sources, but not those of other sources.
    const { superAdmin, manageSources } = rightsOf(this.policy, asker);
    const isCounted = ({ id }: { id: number }) => held.includes(id) || superAdmin || manageSources;
    const after = sources.filter(isCounted).map(({ id }) => id);
    const notCounted = sources.filter((source) => !isCounted(source)).map((source) => source.name);
    const { groups, claims, isCut } = await this.counts.namesIn([...new Set([...held, ...after])]);
    const claimsAt = ({ claimSet }: NamePlace) => claims.get(claimSet);
    const changes = await this.compare(
      asker,
      groups,
      {
        gate: stored?.claims ?? {},
        ranks: ranksOf(held),
        claimsAt,
        opening: stored ? this.openAccess.inEffect(stored) : NOT_OPEN,
      },
      { gate: declared.claims, ranks: ranksOf(after), claimsAt, opening: declared },
    );
    return {
      ...changes,
      ...(isCut ? { isCut } : {}),
      ...(notCounted.length > 0 ? { notCounted } : {}),
    };
  }

  /**
   * @param stored null for a new source, which has no entries yet.
   * @throws ApiError as for a PUT with these settings.
   */
  async ofSource(
    asker: Caller,
    name: string,
    body: SourceBody,
    stored: Source | null,
  ): Promise<AccessChanges> {
    const { kind, claims } = await this.sources.declare(asker, name, body);
    if (stored && stored.kind !== kind) throw new ApiError('kind_immutable');
    // Entries of the other kinds have their own claims.
    if (!stored || !KINDS[kind].inheritsClaims) return { changes: [] };
    const { groups, isCut } = await this.counts.namesIn([stored.id]);
    const side = (required: Claims): Side => ({
      gate: null,
      ranks: ranksOf([stored.id]),
      claimsAt: () => required,
      opening: NOT_OPEN,
    });
    const changes = await this.compare(asker, groups, side(stored.claims), side(claims));
    return { ...changes, ...(isCut ? { isCut } : {}) };
  }

  private async compare(
    asker: Caller,
    groups: readonly NameGroup[],
    before: Side,
    after: Side,
  ): Promise<AccessChanges> {
    const { holders, isCut } = await this.holders(asker, groups, [before, after]);
    const changes: AccessChange[] = [];
    for (const compared of [...holders, ...this.withoutToken(before, after)]) {
      const had = await this.providers(groups, before, compared.before);
      changes.push(changeOf(compared, groups, had, await this.providers(groups, after, compared.after)));
    }
    // Covers entries without claims, which only super-admins see.
    if (changes.every((change) => sizeOf(change) === 0)) {
      const [had, has] = [before, after].map((side) => groups.map((group) => providerIn(group, side)));
      changes.push(changeOf({ sentence: SUPER_ADMINS }, groups, had ?? [], has ?? []));
    }
    const found = changes
      .filter((change) => sizeOf(change) > 0)
      .sort((one, other) => sizeOf(other) - sizeOf(one));
    return {
      changes: found.slice(0, MAX_LISTED),
      ...(isCut || found.length > MAX_LISTED ? { isCut: true } : {}),
    };
  }

  private async providers(
    groups: readonly NameGroup[],
    side: Side,
    caller: Caller | null,
  ): Promise<Providers> {
    if (!caller || (side.gate && !this.policy.mayReach(caller, side.gate))) return groups.map(() => null);
    const seen = new Map<Claims, boolean>();
    const sees = (place: NamePlace) => {
      const claims = side.claimsAt(place);
      if (!claims) return false;
      const isSeen = seen.get(claims) ?? this.policy.maySee(caller, claims);
      seen.set(claims, isSeen);
      return isSeen;
    };
    const providers: (number | null)[] = [];
    for (const [index, group] of groups.entries()) {
      if (isPauseDue(index)) await pauseIfDue();
      providers.push(providerIn(group, side, sees));
    }
    return providers;
  }

  /**
   * Returns callers with a token: for each claim set on either side, the smallest claims that show its entries, and for
   * names in several sources, the claims that show all of them.
   */
  private async holders(
    asker: Caller,
    groups: readonly NameGroup[],
    sides: readonly Side[],
  ): Promise<{ holders: readonly ComparedCallers[]; isCut: boolean }> {
    const found = new Map<string, ComparedCallers>();
    for (const side of sides)
      for (const { places } of groups) {
        await pauseIfDue();
        const required = places
          .filter(({ source }) => side.ranks.has(source))
          .map((place) => this.smallest(side, place))
          .filter(({ length }) => length > 0);
        for (const claims of [...required.flat(), ...(required.length > 1 ? allOf(required) : [])]) {
          const key = canonicalClaims(claims);
          if (found.has(key)) continue;
          if (found.size >= MAX_COMPARED) return { holders: [...found.values()], isCut: true };
          const sentence = key === '{}' ? EVERYBODY : sentenceOf([{ required: claims, arrays: 'all' }]);
          // Applies only the role rules that the asker knows.
          const caller = { ...WITHOUT_CLAIMS, claims, assumedBy: asker };
          found.set(key, { sentence, claims, before: caller, after: caller });
        }
      }
    return { holders: [...found.values()], isCut: false };
  }

  private smallest({ gate, claimsAt }: Side, place: NamePlace): readonly Claims[] {
    const claims = claimsAt(place);
    if (!claims) return [];
    const required = [
      gate ? requirementOf((record) => this.policy.mayReach(WITHOUT_CLAIMS, gate, record)) : EVERYBODY,
      requirementOf((record) => this.policy.maySee(WITHOUT_CLAIMS, claims, record)),
    ];
    if (required.includes(SUPER_ADMINS)) return [];
    return allOf(
      required.map((one) => {
        if (typeof one === 'string') return [{}];
        return one.arrays === 'any' ? alternatives(one.required, MAX_COMPARED) : [one.required];
      }),
    );
  }

  private withoutToken(before: Side, after: Side): readonly ComparedCallers[] {
    if (this.authenticator.unidentified().code === 'anonymous_mode') return [];
    const now = Date.now();
    const callerWith = (claims: Claims | null | undefined) =>
      claims ? { ...UNIDENTIFIED_CALLER, claims } : null;
    const callerWithKey = ({ opening: { keys } }: Side, name: string) =>
      callerWith(keys.find((key) => key.name === name && !isExpired(key, now))?.claims);
    const names = new Set([before, after].flatMap(({ opening }) => opening.keys.map(({ name }) => name)));
    return [
      {
        sentence: 'callers without a token',
        before: callerWith(before.opening.anonymousClaims),
        after: callerWith(after.opening.anonymousClaims),
      },
      ...[...names].map((name) => ({
        sentence: `callers with the key ${name}`,
        before: callerWithKey(before, name),
        after: callerWithKey(after, name),
      })),
    ];
  }
}

function ranksOf(sources: readonly number[]): ReadonlyMap<number, number> {
  return new Map(sources.map((source, rank) => [source, rank]));
}

/** Returns the claims that combine one choice from each list. */
function allOf(choices: readonly (readonly Claims[])[]): readonly Claims[] {
  return choices.reduce<readonly Claims[]>((found, more) => joined(found, more, MAX_COMPARED), [{}]);
}

// reference/access: the first source whose entry the caller may see provides all versions, even if all are deleted.
function providerIn(
  { places }: NameGroup,
  { ranks }: Side,
  sees: (place: NamePlace) => boolean = () => true,
): number | null {
  const [first] = places
    .filter((place) => ranks.has(place.source) && sees(place))
    .sort((one, other) => (ranks.get(one.source) ?? 0) - (ranks.get(other.source) ?? 0));
  return first?.isShown ? first.source : null;
}

function changeOf(
  { sentence, claims }: Pick<ComparedCallers, 'sentence' | 'claims'>,
  groups: readonly NameGroup[],
  before: Providers,
  after: Providers,
): AccessChange {
  const change = { sentence, ...(claims ? { claims } : {}), gains: 0, loses: 0, moves: 0 };
  for (const [index, { count }] of groups.entries()) {
    const [from = null, to = null] = [before[index], after[index]];
    if (from === to) continue;
    change[from === null ? 'gains' : to === null ? 'loses' : 'moves'] += count;
  }
  return change;
}

function sizeOf({ gains, loses, moves }: AccessChange): number {
  return gains + loses + moves;
}
