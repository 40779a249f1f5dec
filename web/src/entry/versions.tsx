import type { JSX } from 'preact';
import type { EntryType } from '../api/types.js';
import { entryHash } from '../catalogue/listed.js';
import { Badge } from '../ui/badge.js';
import { FirstFew } from '../ui/first-few.js';
import { Plain } from '../ui/plain.js';
import { Day } from '../ui/time.js';
import type { Version } from './documents.js';

interface Props {
  readonly registry: string;
  readonly type: EntryType;
  readonly name: string;
  readonly versions: readonly Version[];
  readonly shown: Version;
}

const FEW = 12;

export function Versions({ registry, type, name, versions, shown }: Props): JSX.Element {
  return (
    <section>
      <h2>
        Versions <span class="muted">{versions.length}</span>
      </h2>
      <FirstFew of={versions} count={FEW}>
        {(some) => (
          <table class="plain">
            <thead class="hidden">
              <tr>
                <th scope="col">Version</th>
                <th scope="col">Status</th>
                <th scope="col">Published</th>
              </tr>
            </thead>
            <tbody>
              {some.map((each) => (
                <tr key={each.version} class={each === shown ? 'current' : undefined}>
                  <th scope="row">
                    <a
                      href={entryHash(registry, { type, name }, each.isLatest ? undefined : each.version)}
                      aria-current={each === shown ? 'true' : undefined}
                    >
                      <Plain text={each.version} class="break" />
                    </a>
                  </th>
                  <td>
                    {each.isLatest && <span class="badge plain">latest</span>}{' '}
                    {each.status !== 'active' && <Badge state={each.status} />}
                  </td>
                  <td class="end muted">{each.publishedAt !== undefined && <Day at={each.publishedAt} />}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </FirstFew>
    </section>
  );
}
