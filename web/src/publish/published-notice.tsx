import type { JSX } from 'preact';
import { HoldReasons } from '../admission/items.js';
import { api, unwrap } from '../api/client.js';
import type { EntryType, HeldAdmission } from '../api/types.js';
import { hashOf } from '../navigation/route.js';
import { useQuery } from '../ui/query.js';
import { UntrustedText } from '../ui/untrusted-text.js';

/** What was published or is held. */
export interface Published {
  readonly type: EntryType;
  readonly name: string;
  readonly version: string;
  /** Set if the version is held. */
  readonly admission?: HeldAdmission;
}

export function PublishedNotice({ published }: { published: Published }): JSX.Element {
  const { name, version, admission } = published;
  const what = <UntrustedText text={`${name} ${version}`} class="break" />;
  if (admission)
    return (
      <div class="notice" role="status">
        <p>{what} is waiting for review. It is not served until then.</p>
        <HoldReasons reasons={admission.reasons} />
        {admission.id !== undefined && <a href={hashOf(['review', admission.id])}>Follow the review</a>}
      </div>
    );
  return (
    <div class="notice good" role="status">
      <p>{what} is published.</p>
      <PublishedLinks published={published} />
    </div>
  );
}

function PublishedLinks({ published: { type, name } }: { published: Published }): JSX.Element {
  const query = useQuery(`${type} ${name}`, (signal) =>
    unwrap(api.GET('/v1/entries/{type}/{name}/access', { params: { path: { type, name } }, signal })),
  );
  const registries = new Set(query.value?.claimSets.flatMap(({ registry }) => registry ?? []));
  return (
    <p class="links">
      {[...registries].map((registry) => (
        <a key={registry} href={hashOf(['catalogue', registry, type, name])}>
          View it in {registry}
        </a>
      ))}
      <a href={hashOf(['access', 'who', type, name])}>Who sees this</a>
      <a href={hashOf(['publish', type, name])}>Versions and claims</a>
    </p>
  );
}
