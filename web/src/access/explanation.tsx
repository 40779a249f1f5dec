import type { JSX } from 'preact';
import { api, unwrap } from '../api/client.js';
import type { CallerBody, Explanation } from '../api/types.js';
import { ClaimChips } from '../claims/claims-editor.js';
import { Badge, stateLabel } from '../ui/badge.js';
import { QueryResult, useQuery } from '../ui/query.js';
import { AskForAccess } from '../ui/refusal.js';
import { UntrustedText } from '../ui/untrusted-text.js';
import { queryOf, type Question } from './question-form.js';

type Step = Explanation['steps'][number];
type Missing = NonNullable<Explanation['missing']>[number];

const ACTIONS: Readonly<Record<Question['action'], string>> = {
  see: 'see it',
  manage: 'manage it',
  publish: 'publish it',
};

/** @param isMe whether the question is about the user. */
function decisionText(decision: Explanation['decision'], action: Question['action'], isMe: boolean): string {
  const who = isMe ? 'You' : 'This person';
  switch (decision) {
    case 'shown':
      return `${who} can ${ACTIONS[action]}.`;
    case 'hidden':
      return `It exists, but ${isMe ? 'you' : 'this person'} cannot see it.`;
    case 'refused':
      return `${who} cannot ${ACTIONS[action]}.`;
    case 'absent':
      return 'It does not exist, or is hidden from you.';
  }
}

const MARKS: Readonly<Record<Step['outcome'], string>> = {
  passed: '✓',
  refused: '✕',
  absent: '○',
  skipped: '–',
  unknown_to_you: '?',
};

const STEP_LABELS: Readonly<Record<Step['step'], string>> = {
  token: 'Valid token',
  roles: 'Role for this action',
  read_only: 'The server accepts changes',
  registry: 'The registry exists',
  gate: 'Access to the registry',
  source: 'Access to the source',
  entry: 'Access to the entry',
  shadowing: 'No earlier source has the same name',
  version: 'The version exists',
  content: 'The version has files to install',
  name: 'The name is free, or managed by the publisher',
  claims: 'The publisher holds the claims to assign',
  origin: 'It can be changed here',
  admission: 'Accepted by the review rules',
};

/** A source without the entry refuses nothing. */
function labelOf({ step, outcome }: Step): string {
  return step === 'source' && outcome === 'absent' ? 'The entry is in the source' : STEP_LABELS[step];
}

const BECAUSE: Readonly<Record<string, string>> = {
  superAdmin: 'as a super-admin',
  mode: 'not checked in this mode',
  unlabeled: 'no claims: visible to super-admins only',
  'unlabeled: allow': 'no claims: open to everyone',
  'unlabeled: deny': 'no claims: open to super-admins only',
  'origin: config': 'managed in the configuration file',
  'origin: api': 'managed here',
};

export function ExplanationPanel({ question }: { question: Question }): JSX.Element {
  const { registry, type, entry, action, as } = question;
  const query = useQuery(JSON.stringify(question), (signal) =>
    unwrap(
      api.POST('/v1/access/explain', {
        body: {
          registry,
          action,
          ...(entry === '' ? {} : { entry: { type, name: entry } }),
          ...(as === null ? {} : { as: as as CallerBody }),
        },
        signal,
      }),
    ),
  );
  return (
    <QueryResult query={query}>
      {(explanation) => <Explanations explanation={explanation} question={question} />}
    </QueryResult>
  );
}

/**
 * A refusal decides; otherwise the check whose code is in the response does. Sources without the entry decide nothing.
 */
function decidingStep({ decision, answer, steps }: Explanation): Step | undefined {
  if (decision === 'shown') return undefined;
  return (
    steps.find(({ outcome }) => outcome === 'refused') ??
    steps.find(({ code }) => code !== undefined && code === answer.code) ??
    steps.find(({ outcome }) => outcome === 'unknown_to_you' || outcome === 'absent')
  );
}

interface ExplanationsProps {
  readonly explanation: Explanation;
  readonly question: Question;
}

/** The deciding check comes first; all others are one click away. */
function Explanations({ explanation, question }: ExplanationsProps): JSX.Element {
  const { decision, answer: response, steps, missing = [], hints } = explanation;
  const isMe = question.as === null;
  const found = decidingStep(explanation);
  // The API then responds as if it did not exist, but other checks may still explain the response.
  const isUnknown = !isMe && found?.outcome === 'unknown_to_you';
  const deciding = isUnknown ? undefined : found;
  const others = steps.filter((step) => step !== deciding);
  return (
    <section aria-label="Explanation">
      <p class="decision">
        {isUnknown ? (
          <>You are not allowed to know the result of every check for this person.</>
        ) : (
          <>
            <Badge state={decision} /> {decisionText(decision, question.action, isMe)}
          </>
        )}
      </p>
      {deciding && (
        <ol class="steps deciding" aria-label="The check that decides">
          <StepRow step={deciding} isDeciding />
        </ol>
      )}
      {missing.length > 0 && JSON.stringify(missing) !== JSON.stringify(deciding?.missing) && (
        <>
          <h3>Missing claims</h3>
          <MissingList missing={missing} />
        </>
      )}
      {hints.length > 0 && (
        <>
          <h3>Hints</h3>
          <ul class="hints">
            {hints.map((hint, index) => (
              <li key={index}>
                <UntrustedText text={hint} class="break" />
              </li>
            ))}
          </ul>
        </>
      )}
      {decision !== 'shown' && isMe && (
        <AskForAccess
          question={queryOf(question)}
          missing={missing.map(({ key, needs, anyOf = [] }) => `${key} ${anyOf[0] ?? needs}`)}
        />
      )}
      <details class="below" open={!deciding || undefined}>
        <summary>{deciding ? `Other checks (${others.length})` : `All checks (${others.length})`}</summary>
        <ol class="steps">
          {others.map((step, index) => (
            <StepRow key={index} step={step} />
          ))}
        </ol>
        {!isUnknown && (
          <p class="small-text muted">
            The API returns {response.status}
            {response.code !== undefined && (
              <>
                {' '}
                <code>{response.code}</code>
              </>
            )}
          </p>
        )}
      </details>
    </section>
  );
}

interface StepProps {
  readonly step: Step;
  /** Omits the code, which the details contain. */
  readonly isDeciding?: boolean;
}

function StepRow({ step: details, isDeciding = false }: StepProps): JSX.Element {
  const { outcome, code, role, required, missing = [], because, source, shadowedBy } = details;
  return (
    <li class={`step ${outcome}`}>
      <span class="step-mark" aria-hidden="true">
        {MARKS[outcome]}
      </span>
      <div>
        <p>
          {labelOf(details)} <span class="muted">{stateLabel(outcome)}</span>{' '}
          {code !== undefined && !isDeciding && <code class="muted">{code}</code>}
        </p>
        {(source !== undefined || role !== undefined || shadowedBy !== undefined) && (
          <p class="small-text muted">
            {role !== undefined && <>role {role} </>}
            {source !== undefined && (
              <>
                source <UntrustedText text={source} />{' '}
              </>
            )}
            {shadowedBy !== undefined && (
              <>
                shadowed by <UntrustedText text={shadowedBy} />
              </>
            )}
          </p>
        )}
        {required && Object.keys(required).length > 0 && (
          <p class="small-text">
            <span class="muted">requires</span> <ClaimChips claims={required} />
          </p>
        )}
        {missing.length > 0 && <MissingList missing={missing} />}
        {because !== undefined && (
          <p class="small-text muted">
            <UntrustedText text={BECAUSE[because] ?? because} class="break" />
          </p>
        )}
      </div>
    </li>
  );
}

function MissingList({ missing }: { missing: readonly Missing[] }): JSX.Element {
  return (
    <ul class="missing">
      {missing.map(({ key, needs, held, anyOf, because }, index) => (
        <li key={index}>
          <UntrustedText text={key} class="mono" /> needs{' '}
          <b>
            <UntrustedText text={anyOf && anyOf.length > 1 ? anyOf.join(' or ') : needs} class="break" />
          </b>
          <span class="muted">
            , held: {held.length === 0 ? 'none' : <UntrustedText text={held.join(', ')} class="break" />}
            {because !== undefined && (
              <>
                {' '}
                (<UntrustedText text={because} />)
              </>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}
