import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { api, unwrap } from '../api/client.js';
import { ENTRY_TYPES, isEntryType } from '../api/entry-types.js';
import type { CallerBody } from '../api/types.js';
import { ClaimChips } from '../claims/claims-editor.js';
import { heldClaims } from '../claims/claims.js';
import { hashOf, navigate, type Route } from '../navigation/route.js';
import { isOffered, useSession } from '../session/session.js';
import { pluralize } from '../ui/format.js';
import { QueryResult, useQuery } from '../ui/query.js';
import { UntrustedText } from '../ui/untrusted-text.js';
import { AccessMatrix } from './access-matrix.js';
import type { AssumedCaller } from './caller.js';
import { ExplanationPanel } from './explanation.js';
import { queryOf, type Question, QuestionForm, questionFromQuery } from './question-form.js';
import { WhoSees } from './who-sees.js';

/** `#/access`, `#/access/who/{type}/{name}` */
export function AccessRoutes({ route }: { route: Route }): JSX.Element {
  const [, page, type = null, name] = route.path;
  if (page !== 'who' || !isEntryType(type) || name === undefined) return <AccessPage route={route} />;
  return (
    <WhoSees key={`${type} ${name}`} type={type} name={name} registry={route.query.get('registry') ?? ''} />
  );
}

/** Explains access. The API computes the explanation with the same code that serves requests. */
function AccessPage({ route }: { route: Route }): JSX.Element {
  const session = useSession();
  const isManager = isOffered(session, 'manageRegistries');
  const question = questionFromQuery(route.query);
  const [count, setCount] = useState(0);
  const ask = (to: Question) => {
    const hash = hashOf(['access'], queryOf(to));
    // The question is the same: repeat the request, because the result may have changed.
    if (hash === location.hash) setCount(count + 1);
    else navigate(hash);
  };
  return (
    <>
      <h1>Access</h1>
      <div class="columns even">
        <section>
          <h2>Explain access</h2>
          <QuestionForm key={route.query.toString()} question={question} ask={ask} />
        </section>
        <section class={question.registry === '' ? undefined : 'answer'}>
          {question.registry === '' ? (
            <div class="aside">
              <MyClaims />
              <p class="muted">
                The explanation lists every check of the request, even after the first refusal, and the
                missing claims. Anything you are not allowed to know about is reported as nonexistent.
              </p>
            </div>
          ) : (
            <ExplanationPanel key={count} question={question} />
          )}
        </section>
      </div>
      {isManager && question.registry !== '' && question.as !== null && (
        <Preview key={count} question={question} as={question.as} />
      )}
      {isManager && <AccessMatrix />}
    </>
  );
}

/** The user's claims that rules can name. */
function MyClaims(): JSX.Element {
  const { me } = useSession();
  if (!me) return <></>;
  return (
    <>
      <h2>My claims</h2>
      <p>
        <ClaimChips claims={heldClaims(me)} none="You hold no claims" />
      </p>
    </>
  );
}

/** The first page of a registry as this caller sees it. */
function Preview({ question, as }: { question: Question; as: AssumedCaller }): JSX.Element {
  const { registry, type } = question;
  const query = useQuery(JSON.stringify([registry, type, as]), (signal) =>
    unwrap(
      api.POST('/v1/access/preview', {
        body: { registry, type, as: as as CallerBody },
        signal,
      }),
    ),
  );
  return (
    <section class="preview">
      <h2>What this person sees</h2>
      <QueryResult query={query}>
        {({ counts, page }) =>
          page === null ? (
            <p class="muted">They don't have access to this registry.</p>
          ) : (
            <>
              <p>{ENTRY_TYPES.map((type) => pluralize(counts[type], type)).join(', ')}. The first page:</p>
              <ul class="names">
                {namesOn(page).map((name, index) => (
                  <li key={index}>
                    <UntrustedText text={name} class="break" />
                  </li>
                ))}
              </ul>
            </>
          )
        }
      </QueryResult>
    </section>
  );
}

/** A page contains its documents under a key that depends on their type. */
function namesOn(page: object): string[] {
  const rows = Object.values(page).find(Array.isArray) ?? [];
  return rows.map((row: unknown) => {
    const item = (row ?? {}) as Record<string, unknown>;
    const document = (item['server'] ?? item) as Record<string, unknown>;
    const { namespace, name, version } = document;
    return `${namespace === undefined ? '' : `${String(namespace)}/`}${String(name)} ${String(version)}`;
  });
}
