import type { JSX } from 'preact';
import type { EntryType } from '../api/types.js';
import { entryHash } from '../navigation/route.js';
import { Badge } from '../ui/badge.js';
import { Day } from '../ui/format.js';
import { CollapsedList } from '../ui/table.js';
import { UntrustedText } from '../ui/untrusted-text.js';
import type { KnownDates } from './known-dates.js';
import type { Version } from './read-versions.js';

interface VersionTableProps {
  readonly registry: string;
  readonly type: EntryType;
  readonly name: string;
  readonly versions: readonly Version[];
  readonly shown: Version;
  /** Undefined until they are read. */
  readonly dates: KnownDates | undefined;
}

const VERSIONS_SHOWN = 12;

export function Versions({ registry, type, name, versions, shown, dates }: VersionTableProps): JSX.Element {
  return (
    <section>
      <h2>
        Versions <span class="muted">{versions.length}</span>
      </h2>
      <CollapsedList items={versions} count={VERSIONS_SHOWN}>
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
                      <UntrustedText text={each.version} class="break" />
                    </a>
                  </th>
                  <td>
                    {each.isLatest && <span class="badge plain">latest</span>}{' '}
                    {each.status !== 'active' && <Badge state={each.status} />}
                  </td>
                  <td class="end muted">
                    <VersionDate version={each} dates={dates} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </CollapsedList>
    </section>
  );
}

function VersionDate({ version, dates }: { version: Version; dates: KnownDates | undefined }): JSX.Element {
  const date = dates?.of(version);
  if (date) return <Day at={date.at} />;
  if (!dates || version.publishedAt === undefined) return <></>;
  // Falls back to the server's own time.
  return (
    <>
      added here <Day at={version.publishedAt} />
    </>
  );
}
