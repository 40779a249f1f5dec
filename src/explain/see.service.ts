import { Injectable } from '@nestjs/common';
import type { Caller } from '../auth/caller.js';
import { AccessPolicy, type Judgement } from '../authz/access-policy.js';
import { CatalogService } from '../catalog/catalog.service.js';
import { isEntryType } from '../documents/entry-types.js';
import { isShown } from '../documents/statuses.js';
import { ApiError } from '../http/errors.js';
import { RegistryViews, type VerifiedAccess } from '../visibility/registry-views.js';
import {
  type AskedEntry,
  type EntryFacts,
  FactsQueries,
  type RegistryFacts,
  type SourceFacts,
} from './explain.queries.js';
import { mayAssume } from './knowledge.js';
import { leastMissing } from './least-missing.js';
import {
  type Asking,
  EVERYTHING_UNKNOWN,
  type Explained,
  knownOf,
  type KnownRegistry,
  type Question,
  refusalOf,
} from './question.js';
import { type Answer, type ExplainedMissing, judgedStep, SHOWN, type Step } from './steps.js';

/** What a source has of a name, and how the policy judges that. */
export type JudgedSource =
  | { readonly source: string; readonly entry: null }
  | { readonly source: string; readonly entry: EntryFacts; readonly judgement: Judgement };
type JudgedEntry = Extract<JudgedSource, { judgement: Judgement }>;

export const UNKNOWN_ENTRY: Step = { step: 'entry', outcome: 'unknown_to_you' };
export const ABSENT_ENTRY: Step = { step: 'entry', outcome: 'absent', code: 'entry_not_found' };

/** The entries of these sources as the policy judges them for a caller of the consumer API, in the order of the registry. */
export function judgeSources(
  policy: AccessPolicy,
  caller: Caller,
  sources: readonly SourceFacts[],
): JudgedSource[] {
  return sources.map(({ name: source, entry }) => {
    if (!entry) return { source, entry };
    let judgement: Judgement | undefined;
    policy.maySee(caller, entry.claims, (told) => (judgement = told));
    if (!judgement) throw new Error('The policy has judged an entry and recorded nothing');
    return { source, entry, judgement };
  });
}

export function withEntry(judged: readonly JudgedSource[]): JudgedEntry[] {
  return judged.filter((one): one is JudgedEntry => one.entry !== null);
}

/** contract §6: visibility first, then shadowing: the first source whose entry the caller may see provides all versions. */
export function firstVisible(judged: readonly JudgedSource[]): JudgedEntry | undefined {
  return withEntry(judged).find(({ judgement }) => judgement.allowed);
}

/** What reading the entry answers, of these sources alone. */
export function entryAnswer(judged: readonly JudgedSource[], asked: AskedEntry): Answer {
  const shown = firstVisible(judged);
  if (!shown) return { status: 404, code: 'entry_not_found' };
  return versionAnswer(shown.entry, asked);
}

/** Every step that these sources decide. */
export function entrySteps(
  judged: readonly JudgedSource[],
  held: Readonly<Record<string, unknown>>,
  asked: AskedEntry,
): Step[] {
  const shown = firstVisible(judged);
  const isShared = withEntry(judged).length > 1;
  return judged.flatMap((one): Step[] => {
    const { source } = one;
    if (one.entry === null) return [{ step: 'source', outcome: 'absent', source }];
    const refused = one.judgement.allowed ? {} : ({ code: 'entry_not_found' } as const);
    const steps: Step[] = [
      { step: 'source', outcome: 'passed', source },
      judgedStep('entry', one.judgement, held, { source, ...refused }),
    ];
    if (one === shown) {
      if (isShared) steps.push({ step: 'shadowing', outcome: 'passed', source });
      steps.push(versionStep(one.entry, asked, source));
    } else if (shown && one.judgement.allowed)
      steps.push({ step: 'shadowing', outcome: 'refused', source, shadowedBy: shown.source });
    return steps;
  });
}

function versionStep(entry: EntryFacts, asked: AskedEntry, source: string): Step {
  const { code } = versionAnswer(entry, asked);
  if (code === undefined) return { step: 'version', outcome: 'passed', source };
  const isHidden = entry.status !== null && !isShown(entry.status);
  return {
    step: 'version',
    outcome: isHidden ? 'refused' : 'absent',
    code,
    source,
    ...(isHidden ? { because: `status: ${entry.status}` } : {}),
  };
}

// contract §6: a deleted version is there for nobody who does not ask for such, and an entry of deleted ones alone is not either.
function versionAnswer({ status, latestStatus }: EntryFacts, { version }: AskedEntry): Answer {
  if (isShown(status)) return SHOWN;
  const isThere = version !== undefined && version !== 'latest' && isShown(latestStatus);
  return { status: 404, code: isThere ? 'version_not_found' : 'entry_not_found' };
}

const LATEST = 'latest';
const UNKNOWN_REGISTRY: Answer = { status: 404, code: 'registry_not_found' };

/** Why somebody sees a registry, or an entry of it, or does not (contract §10). */
@Injectable()
export class SeeService {
  constructor(
    private readonly views: RegistryViews,
    private readonly catalog: CatalogService,
    private readonly facts: FactsQueries,
    private readonly policy: AccessPolicy,
  ) {}

  /**
   * The answer is that of the request itself, which is made as the subject would make it. Where the asker knows only part of what
   * it depends on, it is made up from that part alone.
   */
  async explain(asking: Asking, question: Question): Promise<Explained> {
    const { rights, isAssumed } = asking;
    // Whoever manages nothing is told no more than the request tells: nothing else is looked at.
    const facts = mayAssume(rights)
      ? await this.facts.ofRegistry(question.registry, question.entry)
      : undefined;
    const known = facts ? knownOf(this.policy, asking, facts) : EVERYTHING_UNKNOWN;
    if (isAssumed && !known.isWhole && !rights.superAdmin) return this.explainPart(asking, question, known);
    return this.explainWhole(asking, question, known);
  }

  /** The request itself is made. */
  private async explainWhole(asking: Asking, question: Question, known: KnownRegistry): Promise<Explained> {
    const { subject, client } = asking;
    const { registry, entry } = question;
    let gate: Judgement | undefined;
    let access: VerifiedAccess | undefined;
    const atGate = await refusalOf(async () => {
      access = await this.views.enter(subject, client, registry, (judgement) => (gate = judgement));
    });
    if (atGate?.code === 'registry_not_found')
      return { answer: atGate, steps: [{ step: 'registry', outcome: 'absent', code: 'registry_not_found' }] };
    const entered = access;
    const atEntry = entered && entry ? await refusalOf(() => this.read(entered, entry)) : undefined;
    const answer = atGate ?? atEntry ?? SHOWN;
    const steps = [PASSED_REGISTRY, this.gateStep(asking, known, gate, answer)];
    if (entry) steps.push(...this.entrySteps(asking, known, entry, answer));
    return {
      answer,
      steps,
      ...this.missing(asking, known, question, answer),
      ...hintsOf(known, steps, entry),
    };
  }

  /** Everything the asker does not know is as if it were missing. */
  private explainPart(asking: Asking, { entry }: Question, known: KnownRegistry): Explained {
    const { subject } = asking;
    const { facts } = known;
    const tail = entry ? [...this.knownSteps(asking, known, entry), UNKNOWN_ENTRY] : [];
    if (!known.knowsGate || !facts) {
      const steps: Step[] = [
        { step: 'registry', outcome: 'unknown_to_you' },
        { step: 'gate', outcome: 'unknown_to_you' },
        ...tail,
      ];
      return { answer: UNKNOWN_REGISTRY, steps };
    }
    let gate: Judgement | undefined;
    const isIn = this.policy.mayReach(subject, facts.claims, (judgement) => (gate = judgement));
    const answer: Answer = isIn
      ? entry
        ? entryAnswer(judgeSources(this.policy, subject, known.sources), entry)
        : SHOWN
      : { status: 403, code: 'registry_forbidden' };
    const steps = [PASSED_REGISTRY, this.gateStep(asking, known, gate, answer), ...tail];
    return { answer, steps };
  }

  private async read(access: VerifiedAccess, { type, name, version = LATEST }: AskedEntry): Promise<void> {
    if (!isEntryType(type)) throw new ApiError('entry_not_found');
    await this.catalog.version(access, type, name, version, false);
  }

  private gateStep(
    { subject }: Asking,
    { knowsGate }: KnownRegistry,
    gate: Judgement | undefined,
    { code }: Answer,
  ): Step {
    const refused = code === 'registry_forbidden' ? ({ code } as const) : {};
    if (gate && knowsGate) return judgedStep('gate', gate, subject.claims, refused);
    return { step: 'gate', outcome: gate?.allowed === true ? 'passed' : 'refused', ...refused };
  }

  /** Of what the asker does not know, no more than the answer says. */
  private entrySteps(asking: Asking, known: KnownRegistry, entry: AskedEntry, answer: Answer): Step[] {
    const told = this.knownSteps(asking, known, entry);
    if (known.isWhole) return told.some(({ step }) => step === 'entry') ? told : [...told, ABSENT_ENTRY];
    const isThere = answer.status === 200 || answer.code === 'version_not_found';
    const isTold = told.some(({ step, outcome }) => step === 'entry' && (outcome === 'passed') === isThere);
    if (isTold) return told;
    const bare: Step[] = isThere
      ? [{ step: 'entry', outcome: 'passed' }, ...answeredVersionStep(entry, answer)]
      : [ABSENT_ENTRY];
    return [...told, ...bare];
  }

  private knownSteps({ subject }: Asking, known: KnownRegistry, entry: AskedEntry): Step[] {
    return entrySteps(judgeSources(this.policy, subject, known.sources), subject.claims, entry);
  }

  private missing(
    { subject }: Asking,
    { facts, isWhole, sources }: KnownRegistry,
    { entry }: Question,
    { status }: Answer,
  ): { readonly missing?: readonly ExplainedMissing[] } {
    if (status < 300 || !facts || !isWhole) return {};
    const held = subject.claims;
    const judge = (claims: Readonly<Record<string, unknown>>) => {
      const caller = { ...subject, claims };
      const judged = judgeSources(this.policy, caller, sources);
      let gate: Judgement | undefined;
      const isIn = this.policy.mayReach(caller, facts.claims, (judgement) => (gate = judgement));
      return { isIn, judged, gate };
    };
    const now = judge(held);
    const atGate = now.gate ? (judgedStep('gate', now.gate, held).missing ?? []) : [];
    const candidates = entry
      ? withEntry(now.judged).map(({ judgement }) => [
          ...atGate,
          ...(judgedStep('entry', judgement, held).missing ?? []),
        ])
      : [atGate];
    const opens = (claims: Readonly<Record<string, unknown>>) => {
      const { isIn, judged } = judge(claims);
      return isIn && (!entry || entryAnswer(judged, entry).status === 200);
    };
    const weight = withEntry(now.judged).length;
    const missing = leastMissing(held, candidates, opens, Math.max(1, weight));
    return missing ? { missing } : {};
  }
}

const PASSED_REGISTRY: Step = { step: 'registry', outcome: 'passed' };

function answeredVersionStep({ version }: AskedEntry, { status, code }: Answer): Step[] {
  if (version === undefined) return [];
  return status === 200
    ? [{ step: 'version', outcome: 'passed' }]
    : [{ step: 'version', outcome: 'absent', ...(code ? { code } : {}) }];
}

function hintsOf(
  { facts, isWhole }: { facts: RegistryFacts | undefined; isWhole: boolean },
  steps: readonly Step[],
  entry: AskedEntry | undefined,
): { readonly hints?: readonly string[] } {
  if (!facts || !isWhole || !entry || !steps.includes(ABSENT_ENTRY)) return {};
  const failing = facts.sources.filter(({ problem }) => problem !== null).map(({ name }) => name);
  return {
    hints: failing.map(
      (name) =>
        `The last sync of source ${name} failed, so what is new there is missing: see its \`sync.error\``,
    ),
  };
}
