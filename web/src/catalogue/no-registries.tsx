import type { JSX } from 'preact';
import { isOffered, useSession } from '../session/session.js';
import { EmptyState } from '../ui/query.js';

/** Explains to people who see no registry what they can do. */
export function NoRegistries({ isPage = false }: { isPage?: boolean }): JSX.Element {
  const session = useSession();
  if (session.settings.mode === 'anonymous')
    return (
      <EmptyState title="No registries yet" isPage={isPage}>
        A registry shows the entries of its sources. <a href="#/sources/+new">Add a source</a>, then{' '}
        <a href="#/registries/+new">add a registry</a> with it.
      </EmptyState>
    );
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
