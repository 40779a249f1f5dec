import type { JSX } from 'preact';
import { answer, api } from '../api/client.js';
import type { Claims } from '../api/types.js';
import { useAnswer } from '../api/use-answer.js';
import { Answered } from '../ui/answered.js';
import { counted } from '../ui/counted.js';
import { Plain } from '../ui/plain.js';
import type { Question } from './question.js';

/** The first page of a registry as somebody with these claims gets it. */
export function Preview({ question, as }: { question: Question; as: Claims }): JSX.Element {
  const { registry, type } = question;
  const asked = useAnswer(JSON.stringify([registry, type, as]), (signal) =>
    answer(
      api.POST('/v1/access/preview', {
        body: { registry, type, as: { claims: as as Record<string, unknown> } },
        signal,
      }),
    ),
  );
  return (
    <section class="preview">
      <h2>What they see</h2>
      <Answered asked={asked}>
        {({ answer: given, counts, page }) =>
          page === null ? (
            <p class="muted">
              They do not enter the registry: {given.status}{' '}
              {given.code !== undefined && <code>{given.code}</code>}
            </p>
          ) : (
            <>
              <p>
                {counted(counts.server, 'server')}, {counted(counts.skill, 'skill')},{' '}
                {counted(counts.plugin, 'plugin')}. The first page:
              </p>
              <ul class="names">
                {namesOn(page).map((name, place) => (
                  <li key={place}>
                    <Plain text={name} class="break" />
                  </li>
                ))}
              </ul>
            </>
          )
        }
      </Answered>
    </section>
  );
}

/** A page holds documents below a key named like their type. */
function namesOn(page: object): string[] {
  const rows = Object.values(page).find(Array.isArray) ?? [];
  return rows.map((row: unknown) => {
    const item = (row ?? {}) as Record<string, unknown>;
    const document = (item['server'] ?? item) as Record<string, unknown>;
    const { namespace, name, version } = document;
    return `${namespace === undefined ? '' : `${String(namespace)}/`}${String(name)} ${String(version)}`;
  });
}
