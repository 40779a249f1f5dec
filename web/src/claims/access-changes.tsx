import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { AccessChange, AccessChanges as Changes } from '../api/types.js';
import { pluralize } from '../ui/format.js';
import { useQuery } from '../ui/query.js';
import { UntrustedText } from '../ui/untrusted-text.js';

/** How long to wait after typing before asking the server to compare. */
const PAUSE_MS = 400;

interface Props {
  /** The changed settings as text; null if nothing has changed that affects access. */
  readonly changed: string | null;
  readonly read: (signal: AbortSignal) => Promise<Changes>;
}

/** Shows who would gain and lose access if the settings in a form were saved, with numbers. */
export function AccessChanges({ changed, read }: Props): JSX.Element {
  const [asked, setAsked] = useState<string | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(changed), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [changed]);
  const { value, failure } = useQuery(changed === null ? null : asked, read);
  if (changed === null) return <></>;
  const isCurrent = asked === changed;
  const hasNews = isCurrent && value && (value.changes.length > 0 || value.notCounted !== undefined);
  return (
    <section
      class={hasNews ? 'notice below' : 'muted below'}
      role="status"
      aria-label="Who gains and loses access"
    >
      {isCurrent && failure ? (
        <p>
          Who gains and loses access is shown once the settings are valid:{' '}
          <UntrustedText text={failure.sentence} />
        </p>
      ) : isCurrent && value ? (
        <ChangeList {...value} />
      ) : (
        <p>Comparing who has access…</p>
      )}
    </section>
  );
}

function ChangeList({ changes, isCut = false, notCounted = [] }: Changes): JSX.Element {
  return (
    <>
      {changes.length === 0 ? (
        <p>Nobody gains or loses access to entries.</p>
      ) : (
        <>
          <p>If you save this:</p>
          <ul class="bullets">
            {changes.map((change) => (
              <li key={change.sentence}>
                <UntrustedText text={whoOf(change)} class="break" /> {effectOf(change)}
              </li>
            ))}
          </ul>
        </>
      )}
      {isCut && <p>Only the largest changes are listed.</p>}
      {notCounted.length > 0 && (
        <p>
          Not counted: <UntrustedText text={notCounted.join(', ')} class="break" />, which you do not manage.
        </p>
      )}
    </>
  );
}

function whoOf({ sentence, claims }: AccessChange): string {
  if (claims && Object.keys(claims).length > 0) return `People whose ${sentence}`;
  if (claims) return 'People who can log in';
  return sentence === 'super-admins only'
    ? 'Super-admins'
    : sentence.charAt(0).toUpperCase() + sentence.slice(1);
}

/** `gain 3 entries and lose 1 entry` */
function effectOf({ gains, loses, moves }: AccessChange): string {
  const entries = (count: number) => pluralize(count, 'entry', 'entries');
  return [
    ...(gains > 0 ? [`gain ${entries(gains)}`] : []),
    ...(loses > 0 ? [`lose ${entries(loses)}`] : []),
    ...(moves > 0 ? [`get ${entries(moves)} from another source`] : []),
  ].join(' and ');
}
