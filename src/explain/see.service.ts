import { Injectable } from '@nestjs/common';
import { SeenItems } from '../admission/seen-items.queries.js';
import type { Caller } from '../auth/caller.js';
import { AccessPolicy, type Judgement } from '../authz/access-policy.js';
import { CatalogService } from '../catalog/catalog.service.js';
import { NameTraces } from '../catalog/version.queries.js';
import { VisibleContent } from '../content/visible-content.queries.js';
import { isBareType } from '../documents/entry-types.js';
import { RegistryViews, type VerifiedAccess } from '../visibility/registry-views.js';
import { visibleSource } from '../visibility/view.js';
import { type AskedEntry, FactsQueries, type SourceFacts } from './explain.queries.js';
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
import {
  ABSENT_ENTRY,
  type StatusAnswer,
  type EntryRead,
  entrySteps,
  type ExplainedMissing,
  type JudgedSource,
  judgedStep,
  judgeSources,
  NO_VISIBLE_ENTRY,
  SHOWN,
  type Step,
  UNKNOWN_ENTRY,
} from './steps.js';

const LATEST = 'latest';
const UNKNOWN_REGISTRY: StatusAnswer = { status: 404, code: 'registry_not_found' };
const PASSED_REGISTRY: Step = { step: 'registry', outcome: 'passed' };

/** The sources that the asker may know about, with their outcomes for the subject. */
interface KnownSources {
  readonly judged: readonly JudgedSource<SourceFacts>[];
  readonly read: EntryRead;
}

/** Explains why a caller does or does not see a registry or one of its entries (reference/explain). */
@Injectable()
export class SeeService {
  constructor(
    private readonly views: RegistryViews,
    private readonly catalog: CatalogService,
    private readonly traces: NameTraces,
    private readonly facts: FactsQueries,
    private readonly policy: AccessPolicy,
    private readonly items: SeenItems,
    private readonly content: VisibleContent,
  ) {}

  /**
   * Runs the request as the subject and reports the response. If the subject is another caller and the asker may know
   * about only some of the sources, reports the response computed from these sources.
   */
  async explain(asking: Asking, question: Question): Promise<Explained> {
    const { rights, isAssumed } = asking;
    // Reads nothing beyond what the request itself reveals, if the caller has no manage role.
    const facts = mayAssume(rights)
      ? await this.facts.ofRegistry(question.registry, question.entry)
      : undefined;
    const known = facts ? knownOf(this.policy, asking, facts) : EVERYTHING_UNKNOWN;
    if (isAssumed && !known.isWhole && !rights.superAdmin) return this.explainPart(asking, question, known);
    return this.explainWhole(asking, question, known);
  }

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
    const read = ({ type, name, version = LATEST }: AskedEntry, from: VerifiedAccess) =>
      this.catalog.version(from, type, name, version, false);
    const atEntry = entered && entry ? await refusalOf(() => read(entry, entered)) : undefined;
    const answer = atGate ?? atEntry ?? SHOWN;
    const steps = [PASSED_REGISTRY, gateStep(asking, known, gate, answer)];
    if (entry) steps.push(...(await this.entrySteps(asking, known, entry, answer)));
    if (entered && entry && answer === SHOWN) steps.push(...(await this.contentSteps(entered, entry)));
    if (entry && answer.status === 404) steps.push(...(await this.admissionSteps(asking, known, entry)));
    return {
      answer,
      steps,
      ...(await this.missing(asking, known, question, answer)),
      ...hintsOf(known, steps, entry),
    };
  }

  /** Treats everything that is hidden from the asker as missing. */
  private async explainPart(asking: Asking, { entry }: Question, known: KnownRegistry): Promise<Explained> {
    const { subject } = asking;
    const { facts } = known;
    const { judged, read } = await this.knownSources(subject, known, entry);
    const tail = entry ? [...entrySteps(judged, subject.claims, read), UNKNOWN_ENTRY] : [];
    if (!known.knowsGate || !facts) {
      const steps: Step[] = [
        { step: 'registry', outcome: 'unknown_to_you' },
        { step: 'gate', outcome: 'unknown_to_you' },
        ...tail,
      ];
      return { answer: UNKNOWN_REGISTRY, steps };
    }
    let gate: Judgement | undefined;
    const mayEnter = this.policy.mayReach(subject, facts.claims, (judgement) => (gate = judgement));
    const inside = entry ? read.answer : SHOWN;
    const answer: StatusAnswer = mayEnter ? inside : { status: 403, code: 'registry_forbidden' };
    return { answer, steps: [PASSED_REGISTRY, gateStep(asking, known, gate, answer), ...tail] };
  }

  /** Returns the known steps, supplemented with what the response itself reveals. */
  private async entrySteps(
    { subject }: Asking,
    known: KnownRegistry,
    entry: AskedEntry,
    answer: StatusAnswer,
  ): Promise<Step[]> {
    const { judged, read } = await this.knownSources(subject, known, entry);
    const steps = entrySteps(judged, subject.claims, read);
    if (known.isWhole) return steps.some(({ step }) => step === 'entry') ? steps : [...steps, ABSENT_ENTRY];
    const exists = answer.status === 200 || answer.code === 'version_not_found';
    const isExplained = steps.some(
      ({ step, outcome }) => step === 'entry' && (outcome === 'passed') === exists,
    );
    if (isExplained) return steps;
    const bare: Step[] = exists
      ? [{ step: 'entry', outcome: 'passed' }, ...answeredVersionStep(entry, answer)]
      : [ABSENT_ENTRY];
    return [...steps, ...bare];
  }

  /** Reports whether the version has files: without them it is in no marketplace. Files have no claims of their own. */
  private async contentSteps(
    access: VerifiedAccess,
    { type, name, version = LATEST }: AskedEntry,
  ): Promise<Step[]> {
    if (!isBareType(type)) return [];
    const digest = await this.content.digestOf(access, { type, name, version });
    return digest === null
      ? [{ step: 'content', outcome: 'absent', because: 'this version has no files' }]
      : [{ step: 'content', outcome: 'passed' }];
  }

  /** Lists the held versions that the asker sees and may know to be part of the registry. */
  private async admissionSteps(
    { asker }: Asking,
    { facts, isWhole }: KnownRegistry,
    { type, name, version }: AskedEntry,
  ): Promise<Step[]> {
    if (!facts || !isWhole) return [];
    const asked = { type, name, version: version === LATEST ? undefined : version };
    const items = await this.items.holding(asker, asked);
    const sources = new Set(facts.sources.map((source) => source.name));
    return items
      .filter(({ source }) => sources.has(source))
      .map(({ source, version: held, reasons }) => ({
        step: 'admission',
        outcome: 'refused',
        source,
        because: `version ${held} is held: ${reasons.map(({ message }) => message).join('; ')}`,
      }));
  }

  private async knownSources(
    subject: Caller,
    { sources }: KnownRegistry,
    entry: AskedEntry | undefined,
  ): Promise<KnownSources> {
    const judged = judgeSources(this.policy, subject, sources);
    return { judged, read: entry ? await this.read(judged, entry) : NO_VISIBLE_ENTRY };
  }

  /** Runs the consumer API's read query on the entries that the policy lets the caller see. */
  private async read(judged: readonly JudgedSource<SourceFacts>[], asked: AskedEntry): Promise<EntryRead> {
    const visible = judged.flatMap(({ source: { id, entry }, judgement }) =>
      entry && judgement?.allowed ? [visibleSource(id, [entry.claimSetId])] : [],
    );
    if (visible.length === 0) return NO_VISIBLE_ENTRY;
    const { sourceId, status, code } = await this.traces.trace(visible, asked);
    const source = judged.find(({ source: { id } }) => id === sourceId)?.source.name;
    return { answer: code ? { status: 404, code } : SHOWN, source, status };
  }

  private async missing(
    { subject }: Asking,
    { facts, isWhole, sources }: KnownRegistry,
    { entry }: Question,
    { status }: StatusAnswer,
  ): Promise<{ readonly missing?: readonly ExplainedMissing[] }> {
    if (status < 300 || !facts || !isWhole) return {};
    const held = subject.claims;
    const judge = (claims: Readonly<Record<string, unknown>>) => {
      const caller = { ...subject, claims };
      let gate: Judgement | undefined;
      const mayEnter = this.policy.mayReach(caller, facts.claims, (judgement) => (gate = judgement));
      return { mayEnter, gate, judged: judgeSources(this.policy, caller, sources) };
    };
    const now = judge(held);
    const entries = now.judged.flatMap(({ judgement }) => judgement ?? []);
    const atGate = now.gate ? (judgedStep('gate', now.gate, held).missing ?? []) : [];
    const candidates = entry
      ? entries.map((judgement) => [...atGate, ...(judgedStep('entry', judgement, held).missing ?? [])])
      : [atGate];
    // Many combinations of claims make the same entries visible, so each set of visible entries is read only once.
    const reads = new Map<string, Promise<EntryRead>>();
    const opens = async (claims: Readonly<Record<string, unknown>>) => {
      const { mayEnter, judged } = judge(claims);
      if (!mayEnter || !entry) return mayEnter;
      const key = judged.map(({ judgement }) => Number(judgement?.allowed ?? false)).join('');
      const read = reads.get(key) ?? this.read(judged, entry);
      reads.set(key, read);
      return (await read).answer.status === 200;
    };
    const missing = await leastMissing(held, candidates, opens, Math.max(1, entries.length));
    return missing ? { missing } : {};
  }
}

function gateStep(
  { subject }: Asking,
  { knowsGate }: KnownRegistry,
  gate: Judgement | undefined,
  { code }: StatusAnswer,
): Step {
  const refused = code === 'registry_forbidden' ? ({ code } as const) : {};
  if (gate && knowsGate) return judgedStep('gate', gate, subject.claims, refused);
  return { step: 'gate', outcome: gate?.allowed === true ? 'passed' : 'refused', ...refused };
}

function answeredVersionStep({ version }: AskedEntry, { status, code }: StatusAnswer): Step[] {
  if (version === undefined) return [];
  return status === 200
    ? [{ step: 'version', outcome: 'passed' }]
    : [{ step: 'version', outcome: 'absent', ...(code ? { code } : {}) }];
}

function hintsOf(
  { facts, isWhole }: KnownRegistry,
  steps: readonly Step[],
  entry: AskedEntry | undefined,
): { readonly hints?: readonly string[] } {
  if (!facts || !isWhole || !entry || !steps.includes(ABSENT_ENTRY)) return {};
  const failing = facts.sources.filter(({ problem }) => problem !== null).map(({ name }) => name);
  return {
    hints: failing.map(
      (name) =>
        `The last sync of source ${name} failed, so its new entries are missing: see its \`sync.error\``,
    ),
  };
}
