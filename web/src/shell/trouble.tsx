import { Fragment, type JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { api, unwrap } from '../api/client.js';
import { hashOf, useRoute } from '../navigation/route.js';
import { isOffered, useSession } from '../session/session.js';
import { useQuery } from '../ui/query.js';
import { UntrustedText } from '../ui/untrusted-text.js';

const REFRESH_MS = 5 * 60_000;
const SHOWN = 5;

interface Trouble {
  readonly sources: readonly string[];
  readonly webhooks: readonly string[];
}

/** Shows paused webhooks and failing sources to people who manage them. */
export function TroubleBanner(): JSX.Element {
  const session = useSession();
  const [seesSources, seesWebhooks] = [isOffered(session, 'manageSources'), isOffered(session, 'superAdmin')];
  const [dismissed, setDismissed] = useState('');
  const query = useQuery(`${seesSources} ${seesWebhooks}`, async (signal): Promise<Trouble> => {
    const params = { query: { status: 'failed', limit: SHOWN + 1 } } as const;
    const [sources, webhooks] = await Promise.all([
      seesSources ? unwrap(api.GET('/v1/sources', { params, signal })).then((list) => list.sources) : [],
      seesWebhooks ? unwrap(api.GET('/v1/webhooks', { signal })).then((list) => list.webhooks) : [],
    ]);
    return {
      sources: sources.map(({ name }) => name),
      webhooks: webhooks.filter(({ status }) => status === 'paused').map(({ name }) => name),
    };
  });
  const { refetch } = query;
  const { path } = useRoute();
  const address = path.join('/');
  // The user may have fixed or deleted a source on the previous page.
  useEffect(refetch, [address, refetch]);
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && refetch(), REFRESH_MS);
    return () => clearInterval(timer);
  }, [refetch]);
  // The pages of both lists already show this.
  const namesOf = (page: keyof Trouble) => (path[0] === page ? [] : (query.value?.[page] ?? []));
  const [sources, webhooks] = [namesOf('sources'), namesOf('webhooks')];
  const key = JSON.stringify([sources, webhooks]);
  if ((sources.length === 0 && webhooks.length === 0) || key === dismissed) return <></>;
  return (
    <div class="notice trouble" role="status">
      {webhooks.length > 0 && (
        <Names intro="Paused webhooks, which deliver nothing" page="webhooks" names={webhooks} />
      )}
      {sources.length > 0 && (
        <Names
          intro="Sources that fail to sync; their earlier entries remain"
          page="sources"
          names={sources}
        />
      )}
      <button type="button" class="small" onClick={() => setDismissed(key)}>
        Dismiss
      </button>
    </div>
  );
}

interface NamesProps {
  readonly intro: string;
  readonly page: 'sources' | 'webhooks';
  readonly names: readonly string[];
}

function Names({ intro, page, names }: NamesProps): JSX.Element {
  return (
    <p>
      {intro}:{' '}
      {names.slice(0, SHOWN).map((name, index) => (
        <Fragment key={name}>
          {index > 0 && ', '}
          <a href={hashOf([page, name])}>
            <UntrustedText text={name} class="break" />
          </a>
        </Fragment>
      ))}
      {names.length > SHOWN && (
        <>
          {' and '}
          <a href={`#/${page}`}>more</a>
        </>
      )}
    </p>
  );
}
