import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { goTo, hashOf, type Route } from '../navigation/route.js';
import { offers } from '../session/roles.js';
import { useSession } from '../session/session.js';
import { Explained } from './explained.js';
import { Picture } from './picture.js';
import { Preview } from './preview.js';
import { queryOf, type Question, questionOf } from './question.js';
import { QuestionForm } from './question-form.js';

/** Who sees what, and why: asked of the API, which computes it by the code that answers requests. */
export function AccessPage({ route }: { route: Route }): JSX.Element {
  const session = useSession();
  const question = questionOf(route.query);
  const [count, setCount] = useState(0);
  const ask = (to: Question) => {
    const hash = hashOf(['access'], queryOf(to));
    // Asked again: the answer may have changed.
    if (hash === location.hash) setCount(count + 1);
    else goTo(hash);
  };
  return (
    <>
      <h1>Access</h1>
      <div class="columns even">
        <section>
          <h2>Why is something seen, or not?</h2>
          <QuestionForm key={route.query.toString()} question={question} ask={ask} />
        </section>
        <section>
          {question.registry === '' ? (
            <p class="muted aside">
              Every step of a request is told, also those behind the first refusal, with the claims that are
              missing. What you may not know is told exactly like what is not there.
            </p>
          ) : (
            <Explained key={count} question={question} />
          )}
        </section>
      </div>
      {question.registry !== '' && question.as !== null && (
        <Preview key={count} question={question} as={question.as} />
      )}
      {offers(session, 'manageRegistries') && <Picture />}
    </>
  );
}
