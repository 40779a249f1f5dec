import type { JSX } from 'preact';
import type { ServerDocument } from '../api/types.js';
import { titleOf } from '../catalogue/entry-card.js';
import { entriesWith, tokenOf } from '../content/members-search.js';
import { entryHash } from '../navigation/route.js';
import { Badge } from '../ui/badge.js';
import { useQuery } from '../ui/query.js';
import { CollapsedList } from '../ui/table.js';
import { UntrustedText } from '../ui/untrusted-text.js';

const SHOWN = 10;
/** Maximum number of lookups, each a search. */
const MAX_ASKED = 5;
const KINDS = ['npm', 'pypi', 'oci', 'nuget'];

/** The plugins and skills of the registry that start a server, if any. */
export function UsedBy({
  registry,
  document: { packages = [], remotes = [] },
}: {
  registry: string;
  document: ServerDocument;
}): JSX.Element {
  const known = packages.filter(({ registryType }) => KINDS.includes(registryType));
  const tokens = [...known.map(tokenOf), ...remotes.map(({ url }) => `url:${url}`)].slice(0, MAX_ASKED);
  const query = useQuery(tokens.length === 0 ? null : JSON.stringify([registry, tokens]), (signal) =>
    entriesWith(registry, tokens, undefined, signal),
  );
  if (!query.value?.length) return <></>;
  return (
    <section>
      <h2>
        Used by <span class="muted">{query.value.length}</span>
      </h2>
      <CollapsedList items={query.value} count={SHOWN}>
        {(shown) => (
          <ul class="files">
            {shown.map((entry) => (
              <li key={`${entry.type} ${entry.name}`}>
                <a href={entryHash(registry, entry)}>
                  <UntrustedText text={titleOf(entry.title, entry.name)} class="break" />
                </a>{' '}
                <Badge state={entry.type} />{' '}
                <UntrustedText text={entry.description ?? ''} class="break muted" />
              </li>
            ))}
          </ul>
        )}
      </CollapsedList>
    </section>
  );
}
