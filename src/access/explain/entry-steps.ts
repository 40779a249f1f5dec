import type { Caller } from '../../auth/caller.js';
import type { AccessPolicy, Judgement } from '../../authz/access-policy.js';
import type { AskedEntry, EntryFacts, SourceFacts } from '../facts.queries.js';
import { type Answer, judgedStep, SHOWN, type Step } from '../steps.js';

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
  const isDeleted = entry.status === 'deleted';
  return {
    step: 'version',
    outcome: isDeleted ? 'refused' : 'absent',
    code,
    source,
    ...(isDeleted ? { because: 'status: deleted' } : {}),
  };
}

// contract §6: a deleted version is there for nobody who does not ask for such, and an entry of deleted ones alone is not either.
function versionAnswer({ status, latestStatus }: EntryFacts, { version }: AskedEntry): Answer {
  if (status !== null && status !== 'deleted') return SHOWN;
  const isThere = version !== undefined && version !== 'latest' && latestStatus !== 'deleted';
  return { status: 404, code: isThere ? 'version_not_found' : 'entry_not_found' };
}
