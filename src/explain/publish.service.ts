import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AccessPolicy, type Judgement } from '../authz/access-policy.js';
import type { Claims } from '../claims/claims.js';
import { AdmissionWebhooks } from '../admission/admission-webhooks.js';
import { PublicationAdmission } from '../admission/publication-admission.js';
import { NO_VERSIONS, sumOf } from '../entry-store/entry-limits.queries.js';
import { findPublished } from '../entry-store/entry-rows.queries.js';
import { PublishRules } from '../entries/publish-rules.js';
import { RegistriesRepository } from '../registries/registries.repository.js';
import type { SettingsOf } from '../source-kinds/kinds.js';
import { SourcesRepository } from '../sources/sources.repository.js';
import type { AskedEntry } from './explain.queries.js';
import { knowsRegistry, knowsRules, knowsSource } from './knowledge.js';
import { ManageService } from './manage.service.js';
import { type Asking, type Explained, type Question, refusalOf } from './question.js';
import type { StepName } from './outcomes.js';
import { firstRefusal, judgedStep, rolesStep, type Step } from './steps.js';

const SERVER = 'server';
const PUBLISHED = { status: 201 };
/** The publication waits for review. */
const ACCEPTED = { status: 202 };
const HELD = { step: 'admission', outcome: 'passed' } as const;
const ASKED: Step = {
  step: 'admission',
  outcome: 'passed',
  because: 'Admission webhooks are asked about the version: they may admit, hold or reject it',
};
const CLAIMS_REQUIRED = 'You cannot publish through this registry: pass the claims of the entry in `claims`';

/** The claims to publish with, and the gate to pass first. */
interface Target {
  readonly claims: Claims;
  readonly gate: readonly Step[];
  /** Whether the asker may know the claims. */
  readonly isKnown: boolean;
}

/**
 * Explains whether a caller may publish an entry (reference/publishing, reference/explain): through the registry with its
 * `publishClaims`, or through `POST /v1/entries` with the claims in the question. Checks every rule, whereas publishing
 * stops at the first rule that refuses.
 */
@Injectable()
export class PublishService {
  constructor(
    private readonly registries: RegistriesRepository,
    private readonly sources: SourcesRepository,
    private readonly rules: PublishRules,
    private readonly manage: ManageService,
    private readonly policy: AccessPolicy,
    private readonly admission: PublicationAdmission,
    private readonly webhooks: AdmissionWebhooks,
    private readonly dataSource: DataSource,
  ) {}

  /** Reveals no more than an attempt to publish would. */
  async explain(asking: Asking, question: Question): Promise<Explained> {
    const { subject, rights, isAssumed } = asking;
    const role = rolesStep(this.policy, subject, 'manageEntries', knowsRules(rights));
    const mayTry = isAssumed ? rights.manageEntries : role.outcome === 'passed';
    const target = question.claims
      ? ownClaims(question.claims)
      : await this.throughRegistry(asking, question);
    const { claims, gate, isKnown } = target ?? ownClaims({});
    const steps = [role, this.manage.readOnlyStep(), ...gate];
    const isIn = gate.every(({ outcome }) => outcome === 'passed');
    if (isKnown || (mayTry && isIn)) steps.push(await this.claimsStep(asking, claims));
    if (mayTry && isIn) steps.push(...(await this.sourceSteps(asking, question.entry, claims)));
    else if (isAssumed) steps.push({ step: 'entry', outcome: 'unknown_to_you' });
    return {
      answer: firstRefusal(steps) ?? (steps.some(isHold) ? ACCEPTED : PUBLISHED),
      steps,
      hints: target ? [] : [CLAIMS_REQUIRED],
    };
  }

  /** Returns null if nothing can be published through the registry, or if it is hidden from the asker. */
  private async throughRegistry(
    { asker, rights, subject, isAssumed }: Asking,
    { registry: name, entry }: Question,
  ): Promise<Target | null> {
    const registry = await this.registries.findPublishable(name);
    if (!registry || (entry?.type ?? SERVER) !== SERVER) return null;
    const isKnown = knowsRegistry(rights, { registry: this.policy.mayReach(asker, registry.claims) });
    if (isAssumed && !isKnown) return null;
    let judgement: Judgement | undefined;
    const isIn = this.policy.mayReach(subject, registry.claims, (recorded) => (judgement = recorded));
    const refused = isIn ? {} : ({ code: 'registry_forbidden' } as const);
    const gate: Step =
      isKnown && judgement
        ? judgedStep('gate', judgement, subject.claims, refused)
        : { step: 'gate', outcome: isIn ? 'passed' : 'refused', ...refused };
    return { claims: registry.publishClaims, gate: [gate], isKnown };
  }

  private async claimsStep({ subject }: Asking, claims: Claims): Promise<Step> {
    let judgement: Judgement | undefined;
    const refusal = await refusalOf(() =>
      this.rules.checkClaims(subject, claims, (recorded) => (judgement = recorded)),
    );
    const refused = refusal?.code ? { code: refusal.code } : {};
    return judgement
      ? judgedStep('claims', judgement, subject.claims, refused)
      : { step: 'claims', outcome: refusal ? 'refused' : 'passed', ...refused };
  }

  private async sourceSteps(asking: Asking, entry: AskedEntry | undefined, claims: Claims): Promise<Step[]> {
    const managed = await this.sources.findManaged();
    const source = await this.rule('source', () => this.rules.checkSource(managed));
    if (!entry) return [source];
    const { names } = (managed?.settings ?? {}) as SettingsOf<'managed'>;
    const mayKnowNames =
      !asking.isAssumed ||
      knowsSource(asking.rights, {
        source: managed !== null && this.policy.mayReach(asking.asker, managed.claims),
      });
    const name: Step = mayKnowNames
      ? await this.rule('name', () => this.rules.checkName(asking.subject, entry, claims, names))
      : { step: 'name', outcome: 'unknown_to_you' };
    const isRefused = this.manage.readOnlyStep().outcome === 'refused' || name.outcome === 'refused';
    const steps = [source, name, ...(await this.entrySteps(asking, entry, claims, isRefused))];
    const review =
      managed && this.admission.reviewReason(managed.settings, { type: entry.type, name: entry.name });
    const isPublished = steps.every(({ outcome }) => outcome === 'passed');
    // A dry run reveals it.
    if (!mayKnowNames || !isPublished) return steps;
    if (review) steps.push({ ...HELD, because: review.message });
    if (this.webhooks.asksAboutPublications) steps.push(ASKED);
    return steps;
  }

  // reference/publishing: an attempt to publish reveals only that a hidden entry has other claims. If the name is reserved or
  // the server is read-only, the attempt reveals nothing.
  private async entrySteps(
    asking: Asking,
    { type, name, version }: AskedEntry,
    claims: Claims,
    isRefused: boolean,
  ): Promise<Step[]> {
    const mayKnow = await this.manage.managedKnowledge(asking);
    const asked = { type, name, version: version ?? '' };
    const held = await this.admission.reservation(this.dataSource.manager, asked, asking.subject);
    const stored = await findPublished(this.dataSource.manager, asked);
    const found = stored ?? (held.claims && { claims: held.claims });
    const isKnown = found !== null && mayKnow(found.claims);
    if ((asking.isAssumed || isRefused) && !isKnown && !asking.rights.superAdmin)
      return [{ step: 'entry', outcome: 'unknown_to_you' }];
    if (!found) return [{ step: 'entry', outcome: 'passed', because: 'the name is new' }];
    const later = await this.rule('entry', () => this.rules.checkLater(asking.subject, found, claims));
    const step = isKnown ? { ...later, required: found.claims } : later;
    if (later.outcome !== 'passed') return [step];
    if (stored?.hasVersion || held.hasVersion)
      return [step, { step: 'version', outcome: 'refused', code: 'version_exists' }];
    // The size of the document is unknown.
    const room = await this.rule('version', () =>
      this.rules.checkRoom({ name }, sumOf(stored?.size ?? NO_VERSIONS, held.size), 0),
    );
    return version === undefined && room.outcome === 'passed' ? [step] : [step, room];
  }

  private async rule(step: StepName, check: () => void): Promise<Step> {
    const refusal = await refusalOf(check);
    return refusal?.code ? { step, outcome: 'refused', code: refusal.code } : { step, outcome: 'passed' };
  }
}

function isHold(step: Step): boolean {
  return step.step === 'admission' && step !== ASKED;
}

function ownClaims(claims: Claims): Target {
  return { claims, gate: [], isKnown: true };
}
