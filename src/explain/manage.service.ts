import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { AccessPolicy, type Judgement } from '../authz/access-policy.js';
import type { Claims } from '../claims/claims.js';
import { changesConfig } from '../config/slices.js';
import { EntriesService } from '../entries/entries.service.js';
import { RegistriesService } from '../registries/registries.service.js';
import { SourcesRepository } from '../sources/sources.repository.js';
import type { AskedEntry } from './explain.queries.js';
import { knowsManaged, knowsRegistry, knowsRules } from './knowledge.js';
import { leastMissing } from './least-missing.js';
import { type Asking, type Explained, type Question, refusalOf } from './question.js';
import {
  ABSENT_ENTRY,
  firstRefusal,
  judgedStep,
  rolesStep,
  SHOWN,
  type Step,
  UNKNOWN_ENTRY,
} from './steps.js';

/**
 * Explains why a caller can or cannot change a registry or a published entry (reference/sources, reference/explain).
 */
@Injectable()
export class ManageService {
  constructor(
    private readonly registries: RegistriesService,
    private readonly entries: EntriesService,
    private readonly sources: SourcesRepository,
    private readonly policy: AccessPolicy,
    @Inject(changesConfig.KEY) private readonly changes: ConfigType<typeof changesConfig>,
  ) {}

  /** Runs the checks in the order of reference/errors: role, read-only, existence, origin. */
  async explain(asking: Asking, question: Question): Promise<Explained> {
    const { entry } = question;
    const steps = [
      rolesStep(
        this.policy,
        asking.subject,
        entry ? 'manageEntries' : 'manageRegistries',
        knowsRules(asking.rights),
      ),
      this.readOnlyStep(),
      ...(entry ? await this.entrySteps(asking, entry) : await this.registrySteps(asking, question.registry)),
    ];
    const answer = firstRefusal(steps) ?? SHOWN;
    return { answer, steps, ...(await this.missing(asking, steps)) };
  }

  readOnlyStep(): Step {
    return this.changes.readOnly
      ? { step: 'read_only', outcome: 'refused', code: 'read_only' }
      : { step: 'read_only', outcome: 'passed' };
  }

  private async registrySteps({ asker, rights, subject, isAssumed }: Asking, name: string): Promise<Step[]> {
    let judgement: Judgement | undefined;
    const refusal = await refusalOf(() =>
      this.registries.load(subject, name, 'change', (recorded) => (judgement = recorded)),
    );
    const isKnown =
      judgement?.required !== undefined &&
      knowsRegistry(rights, { registry: this.policy.mayReach(asker, judgement.required) });
    // Callers who may enter a registry know that it exists.
    if (!isKnown && !isAssumed && judgement?.allowed === true)
      return [{ step: 'registry', outcome: 'passed' }];
    if (!isKnown || !judgement) {
      const outcome = isAssumed && !rights.superAdmin ? 'unknown_to_you' : 'absent';
      return [{ step: 'registry', outcome, code: 'registry_not_found' }];
    }
    const refused = judgement.allowed ? {} : ({ code: 'registry_not_found' } as const);
    const steps = [judgedStep('registry', judgement, subject.claims, refused)];
    if (judgement.allowed)
      steps.push(
        refusal?.code === 'config_managed'
          ? { step: 'origin', outcome: 'refused', code: 'config_managed', because: 'origin: config' }
          : { step: 'origin', outcome: 'passed', because: 'origin: api' },
      );
    return steps;
  }

  private async entrySteps(asking: Asking, { type, name, version }: AskedEntry): Promise<Step[]> {
    const { rights, subject, isAssumed } = asking;
    const mayKnow = await this.managedKnowledge(asking);
    let judgement: Judgement | undefined;
    const refusal = await refusalOf(() =>
      this.entries.load(subject, { type, name }, version, (recorded) => (judgement = recorded)),
    );
    const isKnown = judgement?.required !== undefined && mayKnow(judgement.required);
    if (!isKnown || !judgement)
      return [isAssumed && !rights.superAdmin ? { ...UNKNOWN_ENTRY, code: 'entry_not_found' } : ABSENT_ENTRY];
    const refused = judgement.allowed ? {} : ({ code: 'entry_not_found' } as const);
    const steps = [judgedStep('entry', judgement, subject.claims, refused)];
    if (judgement.allowed && version !== undefined)
      steps.push(
        refusal?.code === 'version_not_found'
          ? { step: 'version', outcome: 'absent', code: 'version_not_found' }
          : { step: 'version', outcome: 'passed' },
      );
    return steps;
  }

  /**
   * Returns a predicate that decides whether the asker may know about a managed entry with the given claims. The call
   * takes equally long whether or not the entry exists.
   */
  async managedKnowledge({
    asker,
    rights,
  }: Pick<Asking, 'asker' | 'rights'>): Promise<(claims: Claims) => boolean> {
    const managed = rights.manageSources ? await this.sources.findManaged() : null;
    const source = managed !== null && this.policy.mayReach(asker, managed.claims);
    return (claims) => knowsManaged(rights, { source, entry: this.policy.mayManage(asker, claims) });
  }

  private async missing({ subject }: Asking, steps: readonly Step[]): Promise<Pick<Explained, 'missing'>> {
    const role = steps.find(({ step }) => step === 'roles');
    const resource = steps.find(
      ({ step, required }) => (step === 'registry' || step === 'entry') && required,
    );
    const canBeGranted = steps.every(
      ({ step, outcome, missing }) => outcome === 'passed' || missing || step === 'origin',
    );
    if (!role?.role || !resource?.required || !canBeGranted) return {};
    const wanted = [...(role.missing ?? []), ...(resource.missing ?? [])];
    const missing = await leastMissing(subject.claims, [wanted], (claims) =>
      this.opens({ ...subject, claims }, role, resource),
    );
    return missing ? { missing } : {};
  }

  private opens(caller: Asking['subject'], role: Step, { step, required }: Step): boolean {
    if (!role.role || !required || !this.policy.mayAct(caller, role.role)) return false;
    return step === 'entry'
      ? this.policy.mayManage(caller, required)
      : this.policy.mayReach(caller, required);
  }
}
