import type { JSX } from 'preact';
import { api, unwrap } from '../api/client.js';
import { hashOf, NEW_NAME } from '../navigation/route.js';
import { EmptyState, QueryResult, useQuery } from '../ui/query.js';
import { UntrustedText } from '../ui/untrusted-text.js';

interface Found {
  /** The first source that the caller manages. */
  readonly source: string | undefined;
  readonly hasRegistry: boolean;
}

async function read(signal: AbortSignal): Promise<Found> {
  const params = { query: { limit: 1 } };
  const [{ sources }, { registries }] = await Promise.all([
    unwrap(api.GET('/v1/sources', { params, signal })),
    unwrap(api.GET('/v1/registries', { params, signal })),
  ]);
  return { source: sources[0]?.name, hasRegistry: registries.length > 0 };
}

/** Guides the administrator of an empty server from a source to a registry to a connected editor. */
export function FirstSteps({ isPage }: { isPage: boolean }): JSX.Element {
  const query = useQuery('first steps', read);
  return (
    <QueryResult query={query}>
      {({ source, hasRegistry }) =>
        hasRegistry ? (
          <EmptyState title="You don't have access to any registry" isPage={isPage}>
            Access to a registry depends on your claims. <a href="#/registries">Registries</a> lists those
            that you manage.
          </EmptyState>
        ) : (
          <EmptyState title="Set up your registry" isPage={isPage}>
            <ol class="first-steps">
              <li>
                <h2>Add a source</h2>
                {source === undefined ? (
                  <>
                    <p>
                      It provides the entries: another registry, a Git repository, a file, or what people
                      publish.
                    </p>
                    <a class="button primary" href={hashOf(['sources', NEW_NAME])}>
                      Add a source
                    </a>
                  </>
                ) : (
                  <p>
                    Done:{' '}
                    <a href={hashOf(['sources', source])}>
                      <UntrustedText text={source} />
                    </a>
                  </p>
                )}
              </li>
              <li>
                <h2>Create a registry</h2>
                <p>It shows the entries of its sources to people who hold its claims.</p>
                {source !== undefined && (
                  <a class="button primary" href={hashOf(['registries', NEW_NAME], { source })}>
                    Create a registry
                  </a>
                )}
              </li>
              <li>
                <h2>Connect your editor</h2>
                <p>Each registry has an address for VS Code, Claude Code, Cursor and others.</p>
              </li>
            </ol>
          </EmptyState>
        )
      }
    </QueryResult>
  );
}
