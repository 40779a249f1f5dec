import { Injectable } from '@nestjs/common';
import { Authenticator } from '../auth/auth.guard.js';
import { type Caller, UNIDENTIFIED_CALLER } from '../auth/caller.js';
import type { Role } from '../auth/route.js';
import { AccessPolicy, type Judgement, type Recorder } from '../authz/access-policy.js';
import { canonicalClaims, type Claims } from '../claims/claims.js';
import { isExpired } from '../config/registry-keys.js';
import type { Entry } from '../entry-store/entry.entity.js';
import { ApiError } from '../http/errors.js';
import { pauseIfDue } from '../limits/time-slice.js';
import { OpenAccess } from '../authz/admin-access.js';
import type { Registry } from '../registries/registry.entity.js';
import type { Source } from '../sources/source.entity.js';
import { SourcesService } from '../sources/sources.service.js';
import type { ClaimSetAccess, KeyAccess, ManagedBy, SourceAccess, WhoHasAccess } from './explain.dto.js';
import { type AskedEntry, ClaimSetCounts, FactsQueries, type RegistryFacts } from './explain.queries.js';
import { rightsOf } from './knowledge.js';
import { knownOf } from './question.js';
import {
  bothOf,
  type Condition,
  EVERYBODY,
  requirementOf,
  sentenceOf,
  SUPER_ADMINS,
  WITHOUT_CLAIMS,
} from './requirements.js';

const MAX_CLAIM_SETS = 1_000;
/** Maximum number of sources per name, because each is listed with all earlier sources. */
const MAX_SHADOWING = 100;
const EVERY_SUPER_ADMIN = 'every super-admin';

/** The settings of a registry that admit callers without a token. */
type Opening = Pick<RegistryFacts, 'name' | 'claims' | 'anonymousClaims' | 'keys'>;

/** Lists which claims grant access to an entry or a registry, and who manages it (reference/explain). */
@Injectable()
export class WhoService {
  constructor(
    private readonly facts: FactsQueries,
    private readonly counts: ClaimSetCounts,
    private readonly policy: AccessPolicy,
    private readonly authenticator: Authenticator,
    private readonly openAccess: OpenAccess,
    private readonly sources: SourcesService,
  ) {}

  /** Reports on a published entry in each registry that the asker may enter. */
  async ofEntry(asker: Caller, { type, name, shownClaims: claims, source }: Entry): Promise<WhoHasAccess> {
    const rights = rightsOf(this.policy, asker);
    const found = await this.facts.withSource(source.name, { type, name });
    const reachable = found.filter((registry) => this.policy.mayReach(asker, registry.claims));
    const registries = reachable.slice(0, MAX_CLAIM_SETS);
    const shadowedBy = registries.flatMap((registry) =>
      shadowing(registry.name, knownOf(this.policy, { asker, rights }, registry).sources).filter(
        (shadowed) => shadowed.source === source.name,
      ),
    );
    return {
      claimSets: registries.map((registry) => ({
        registry: registry.name,
        ...this.accessTo(registry.claims, claims, 1),
      })),
      ...(reachable.length > registries.length ? { isCut: true } : {}),
      anonymous: reachable.some((registry) => this.isOpen(registry, [claims])),
      keys: reachable.flatMap((registry) => this.keysTo(registry, [claims])),
      managedBy: this.managers(asker, 'manageEntries', (caller, record) =>
        this.policy.mayManage(caller, claims, record),
      ),
      ...(shadowedBy.length > 0 ? { shadowedBy } : {}),
    };
  }

  /** Reports on a registry, combining the claims of its entries with the registry's claims. */
  async ofRegistry(asker: Caller, registry: Registry): Promise<WhoHasAccess> {
    const ids = registry.sources.map(({ sourceId }) => sourceId);
    const found = await this.counts.ofSources(ids, MAX_CLAIM_SETS);
    const claimSets = new Map<string, ClaimSetAccess>();
    for (const { claims, count } of found.claimSets) {
      await pauseIfDue();
      const access = this.accessTo(registry.shownClaims, claims, count);
      // Different claims of entries can require the same once the registry's claims are added.
      const key = canonicalClaims(access.claims) + access.sentence;
      claimSets.set(key, { ...access, count: count + (claimSets.get(key)?.count ?? 0) });
    }
    const open = { name: registry.name, claims: registry.claims, ...this.openAccess.inEffect(registry) };
    return {
      claimSets: [...claimSets.values()],
      ...(found.isCut ? { isCut: true } : {}),
      anonymous: this.isOpen(open),
      keys: this.keysTo(open),
      managedBy: this.managersOf(asker, registry.shownClaims),
    };
  }

  /**
   * Reports on a source: how much it contains, who sees its entries after entering a registry, and which registries
   * contain it.
   */
  async ofSource(asker: Caller, source: Source): Promise<SourceAccess> {
    const { claimSets, isCut } = await this.counts.ofSources([source.id], MAX_CLAIM_SETS);
    return {
      counts: await this.counts.ofSource(source.id),
      claimSets: claimSets.map(({ claims, count }) => this.accessTo(null, claims, count)),
      ...(isCut ? { isCut } : {}),
      registries: await this.sources.registriesWith(asker, source),
      managedBy: this.managers(asker, 'manageSources', (caller, record) =>
        this.policy.mayReach(caller, source.shownClaims, record),
      ),
    };
  }

  /**
   * Reports on one name in a registry, by source.
   *
   * @throws ApiError 404 `entry_not_found` if no source has the entry.
   */
  async ofRegistryEntry(asker: Caller, registry: Registry, entry: AskedEntry): Promise<WhoHasAccess> {
    const facts = await this.facts.ofRegistry(registry.name, entry);
    const withEntry = (facts?.sources ?? []).flatMap((source) =>
      source.entry ? [{ ...source, entry: source.entry }] : [],
    );
    if (!facts || withEntry.length === 0) throw new ApiError('entry_not_found');
    const shadowedBy = shadowing(facts.name, withEntry);
    const claimSets = withEntry.map((source) => source.entry.claims);
    return {
      claimSets: withEntry.map(({ name, entry: { claims } }) => ({
        source: name,
        ...this.accessTo(facts.claims, claims, 1),
      })),
      anonymous: this.isOpen(facts, claimSets),
      keys: this.keysTo(facts, claimSets),
      managedBy: this.managersOf(asker, facts.claims),
      ...(shadowedBy.length > 0 ? { shadowedBy } : {}),
    };
  }

  /** @param gate the claims of the registry; null for any registry. */
  private accessTo(gate: Claims | null, claims: Claims, count: number): ClaimSetAccess {
    const required = [
      gate ? requirementOf((record) => this.policy.mayReach(WITHOUT_CLAIMS, gate, record)) : EVERYBODY,
      requirementOf((record) => this.policy.maySee(WITHOUT_CLAIMS, claims, record)),
    ];
    if (required.includes(SUPER_ADMINS)) return { claims, sentence: SUPER_ADMINS, count };
    const conditions = required.filter((one): one is Condition => typeof one === 'object');
    const [first] = conditions;
    if (!first) return { claims: {}, sentence: EVERYBODY, count };
    const both = bothOf(conditions[1]?.required ?? {}, first.required, first.arrays);
    return { claims: both ?? claims, sentence: sentenceOf(conditions), count };
  }

  private isOpen(registry: Opening, entries?: readonly Claims[]): boolean {
    if (this.authenticator.unidentified().code === 'anonymous_mode') return true;
    const { anonymousClaims } = registry;
    return anonymousClaims !== null && this.admits(anonymousClaims, registry, entries);
  }

  /** Returns the keys that grant access; in anonymous mode, keys are not used. */
  private keysTo(registry: Opening, entries?: readonly Claims[]): KeyAccess[] {
    if (this.authenticator.unidentified().code === 'anonymous_mode') return [];
    return registry.keys
      .filter((key) => !isExpired(key, Date.now()) && this.admits(key.claims, registry, entries))
      .map(({ name }) => ({ registry: registry.name, name }));
  }

  /**
   * reference/access: a caller without a token has only the claims that the registry grants them.
   *
   * @param entries the claim sets of entries, of which the caller must see at least one; if absent, entering is enough.
   */
  private admits(granted: Claims, { claims }: Opening, entries?: readonly Claims[]): boolean {
    const caller = { ...UNIDENTIFIED_CALLER, claims: granted };
    if (!this.policy.mayReach(caller, claims)) return false;
    return entries === undefined || entries.some((entry) => this.policy.maySee(caller, entry));
  }

  private managersOf(asker: Caller, claims: Claims): ManagedBy[] {
    return this.managers(asker, 'manageRegistries', (caller, record) =>
      this.policy.mayReach(caller, claims, record),
    );
  }

  /**
   * Lists the rules that the asker may know. That super-admins manage everything is public; only the rules that make
   * someone a super-admin are secret.
   */
  private managers(
    asker: Caller,
    role: Role,
    reaches: (caller: Caller, record: Recorder) => boolean,
  ): ManagedBy[] {
    const scope = requirementOf((record) => reaches(WITHOUT_CLAIMS, record));
    const superAdmins = this.policy.mayAct(asker, 'superAdmin')
      ? this.rulesOf(asker, 'superAdmin').map((rule) =>
          typeof rule === 'object' ? sentenceOf([rule]) : rule,
        )
      : [EVERY_SUPER_ADMIN];
    return [
      ...this.rulesOf(asker, role).flatMap((rule): ManagedBy[] => {
        if (scope === SUPER_ADMINS) return [];
        const conditions = [rule, scope].filter((one): one is Condition => typeof one === 'object');
        return [{ role, sentence: conditions.length > 0 ? sentenceOf(conditions) : EVERYBODY }];
      }),
      ...superAdmins.map((sentence) => ({ role: 'superAdmin' as const, sentence })),
    ];
  }

  /** Returns the rules known to the asker that grant a role; in modes without rules, every caller has the role. */
  private rulesOf(asker: Caller, role: Role): readonly (Condition | typeof EVERYBODY)[] {
    let judgement: Judgement | undefined;
    const nobody = { ...WITHOUT_CLAIMS, assumedBy: asker };
    const allowed = this.policy.mayAct(nobody, role, (recorded) => (judgement = recorded));
    if (allowed) return [EVERYBODY];
    // reference/access: in a rule, an array lists alternatives.
    return (judgement?.rules ?? []).map((required) => ({ required, arrays: 'any' }));
  }
}

function shadowing(registry: string, sources: RegistryFacts['sources']) {
  const withEntry = sources
    .filter(({ entry }) => entry !== null)
    .map(({ name }) => name)
    .slice(0, MAX_SHADOWING);
  return withEntry.slice(1).map((source, index) => ({ registry, source, by: withEntry.slice(0, index + 1) }));
}
