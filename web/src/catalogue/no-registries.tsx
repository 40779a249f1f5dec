import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { isOffered, useSession } from '../session/session.js';
import { EmptyState, Loading } from '../ui/query.js';

type Steps = (props: { isPage: boolean }) => JSX.Element;

/** Tells people who see no registry what they can do, and guides administrators through the setup. */
export function NoRegistries({ isPage = false }: { isPage?: boolean }): JSX.Element {
  const session = useSession();
  const [steps, setSteps] = useState<{ readonly Show: Steps }>();
  const isSetUpHere = isOffered(session, 'manageSources') && isOffered(session, 'manageRegistries');
  useEffect(() => {
    if (isSetUpHere)
      void import('../start/first-steps.js').then(({ FirstSteps }) => setSteps({ Show: FirstSteps }));
  }, [isSetUpHere]);
  if (steps && isSetUpHere) return <steps.Show isPage={isPage} />;
  if (isSetUpHere) return <Loading />;
  return (
    <EmptyState title="You don't have access to any registry" isPage={isPage}>
      {isOffered(session, 'manageRegistries') ? (
        <>
          Access to a registry depends on your claims. <a href="#/registries">Registries</a> lists those that
          you manage.
        </>
      ) : (
        'Access to a registry depends on your claims. Ask an administrator which claims you need.'
      )}
    </EmptyState>
  );
}
