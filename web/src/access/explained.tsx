import type { JSX } from 'preact';
import { answer, api } from '../api/client.js';
import type { Explanation } from '../api/types.js';
import { useAnswer } from '../api/use-answer.js';
import { Answered } from '../ui/answered.js';
import { Badge } from '../ui/badge.js';
import { ClaimChips } from '../ui/claims.js';
import { Plain } from '../ui/plain.js';
import { wordFor } from '../api/word-for.js';
import type { Question } from './question.js';

type Step = Explanation['steps'][number];
type Missing = NonNullable<Explanation['missing']>[number];

const DECISIONS: Readonly<Record<Explanation['decision'], string>> = {
  shown: 'The request is answered.',
  hidden: 'It is there, and to this caller it is as if it were not.',
  refused: 'The request is refused.',
  absent: 'There is no such thing, or it is not for you to know.',
};

const MARKS: Readonly<Record<Step['outcome'], string>> = {
  passed: '✓',
  refused: '✕',
  absent: '○',
  skipped: '–',
  unknown_to_you: '?',
};

const STEPS: Readonly<Record<string, string>> = {
  token: 'The token is one that this server accepts',
  roles: 'A role allows it',
  read_only: 'The server takes changes',
  registry: 'The registry is there',
  gate: 'The registry may be entered',
  source: 'The source shows its entries',
  entry: 'The entry is for this caller',
  shadowing: 'No earlier source has the name',
  version: 'The version is there',
  name: 'The name is free, or theirs',
  claims: 'The claims are theirs to give',
  origin: 'It can be changed through the API',
};

export function Explained({ question }: { question: Question }): JSX.Element {
  const { registry, type, entry, action, as } = question;
  const asked = useAnswer(JSON.stringify(question), (signal) =>
    answer(
      api.POST('/v1/access/explain', {
        body: {
          registry,
          action,
          ...(entry === '' ? {} : { entry: { type, name: entry } }),
          ...(as === null ? {} : { as: { claims: as as Record<string, unknown> } }),
        },
        signal,
      }),
    ),
  );
  return <Answered asked={asked}>{(explanation) => <Explanations explanation={explanation} />}</Answered>;
}

function Explanations({ explanation }: { explanation: Explanation }): JSX.Element {
  const { decision, answer: given, steps, missing = [], hints } = explanation;
  return (
    <section aria-label="Explanation">
      <p class="decision">
        <Badge state={decision} /> {DECISIONS[decision]}{' '}
        <span class="muted">
          {given.status}
          {given.code !== undefined && (
            <>
              {' '}
              <code>{given.code}</code>
            </>
          )}
        </span>
      </p>
      <ol class="steps">
        {steps.map((step, place) => (
          <StepRow key={place} step={step} />
        ))}
      </ol>
      {missing.length > 0 && (
        <>
          <h3>With exactly this in addition, the answer would be yes</h3>
          <MissingList missing={missing} />
        </>
      )}
      {hints.length > 0 && (
        <>
          <h3>Perhaps</h3>
          <ul class="hints">
            {hints.map((hint, place) => (
              <li key={place}>
                <Plain text={hint} class="break" />
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function StepRow({ step: of }: { step: Step }): JSX.Element {
  const { step, outcome, code, role, required, missing = [], because, source, shadowedBy } = of;
  return (
    <li class={`step ${outcome}`}>
      <span class="step-mark" aria-hidden="true">
        {MARKS[outcome]}
      </span>
      <div>
        <p>
          {wordFor(STEPS, step) ?? step} <span class="muted">{outcome.replaceAll('_', ' ')}</span>{' '}
          {code !== undefined && <code class="muted">{code}</code>}
        </p>
        {(source !== undefined || role !== undefined || shadowedBy !== undefined) && (
          <p class="small-text muted">
            {role !== undefined && <>role {role} </>}
            {source !== undefined && (
              <>
                source <Plain text={source} />{' '}
              </>
            )}
            {shadowedBy !== undefined && (
              <>
                behind <Plain text={shadowedBy} />
              </>
            )}
          </p>
        )}
        {required && Object.keys(required).length > 0 && (
          <p class="small-text">
            <span class="muted">asks for</span> <ClaimChips claims={required} />
          </p>
        )}
        {missing.length > 0 && <MissingList missing={missing} />}
        {because !== undefined && (
          <p class="small-text muted">
            <Plain text={because} class="break" />
          </p>
        )}
      </div>
    </li>
  );
}

function MissingList({ missing }: { missing: readonly Missing[] }): JSX.Element {
  return (
    <ul class="missing">
      {missing.map(({ key, needs, held, anyOf, because }, place) => (
        <li key={place}>
          <Plain text={key} class="mono" /> needs{' '}
          <b>
            <Plain text={anyOf && anyOf.length > 1 ? anyOf.join(' or ') : needs} class="break" />
          </b>
          <span class="muted">
            , held: {held.length === 0 ? 'nothing' : <Plain text={held.join(', ')} class="break" />}
            {because !== undefined && (
              <>
                {' '}
                (<Plain text={because} />)
              </>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}
