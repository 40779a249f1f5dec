import type { JSX } from 'preact';
import { api, unwrap } from '../api/client.js';
import type { CallerBody, Explanation } from '../api/types.js';
import { ClaimChips } from '../claims/claims-editor.js';
import { Badge } from '../ui/badge.js';
import { QueryResult, useQuery } from '../ui/query.js';
import { UntrustedText } from '../ui/untrusted-text.js';
import type { Question } from './question-form.js';

type Step = Explanation['steps'][number];
type Missing = NonNullable<Explanation['missing']>[number];

const DECISIONS: Readonly<Record<Explanation['decision'], string>> = {
  shown: 'The request succeeds.',
  hidden: 'It exists, but the caller cannot see it.',
  refused: 'The request is refused.',
  absent: 'It does not exist, or is hidden from you.',
};

const MARKS: Readonly<Record<Step['outcome'], string>> = {
  passed: '✓',
  refused: '✕',
  absent: '○',
  skipped: '–',
  unknown_to_you: '?',
};

const STEP_LABELS = new Map(
  Object.entries({
    token: 'The token is valid',
    roles: 'A role permits the action',
    read_only: 'The server accepts changes',
    registry: 'The registry exists',
    gate: 'The caller has access to the registry',
    source: 'The caller can see the source',
    entry: 'The caller can see the entry',
    shadowing: 'No earlier source has the name',
    version: 'The version exists',
    name: 'The name is free or managed by the caller',
    claims: 'The caller holds the claims to assign',
    origin: 'It can be changed through the API',
  }),
);

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
    <QueryResult query={query}>{(explanation) => <Explanations explanation={explanation} />}</QueryResult>
  );
}

function Explanations({ explanation }: { explanation: Explanation }): JSX.Element {
  const { decision, answer: response, steps, missing = [], hints } = explanation;
  return (
    <section aria-label="Explanation">
      <p class="decision">
        <Badge state={decision} /> {DECISIONS[decision]}{' '}
        <span class="muted">
          {response.status}
          {response.code !== undefined && (
            <>
              {' '}
              <code>{response.code}</code>
            </>
          )}
        </span>
      </p>
      <ol class="steps">
        {steps.map((step, index) => (
          <StepRow key={index} step={step} />
        ))}
      </ol>
      {missing.length > 0 && (
        <>
          <h3>The request would succeed with these additional claims</h3>
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
    </section>
  );
}

function StepRow({ step: details }: { step: Step }): JSX.Element {
  const { step, outcome, code, role, required, missing = [], because, source, shadowedBy } = details;
  return (
    <li class={`step ${outcome}`}>
      <span class="step-mark" aria-hidden="true">
        {MARKS[outcome]}
      </span>
      <div>
        <p>
          {STEP_LABELS.get(step) ?? step} <span class="muted">{outcome.replaceAll('_', ' ')}</span>{' '}
          {code !== undefined && <code class="muted">{code}</code>}
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
            <UntrustedText text={because} class="break" />
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
