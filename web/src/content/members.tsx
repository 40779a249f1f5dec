import type { JSX } from 'preact';
import { api, unwrap } from '../api/client.js';
import type { FoundEntry, Members, MemberServer } from '../api/types.js';
import { entryHash } from '../navigation/route.js';
import { useQuery } from '../ui/query.js';
import { CollapsedList } from '../ui/table.js';
import { UntrustedText } from '../ui/untrusted-text.js';
import { representingEntry } from './representing-entry.js';
import { entriesWith, tokenOf } from './members-search.js';

const SHOWN = 10;
/** Maximum number of members that are looked up, each with a search. */
const MAX_LINKED = 10;
/** Members with more packages than this are not linked. */
const MAX_TOKENS = 3;

interface ContentPath {
  readonly registry: string;
  readonly type: 'skill' | 'plugin';
  readonly namespace: string;
  readonly name: string;
  readonly version: string;
}

export function readMembers(path: ContentPath, signal: AbortSignal): Promise<Members> {
  return unwrap(
    api.GET('/registry/{registry}/x/content/{type}/{namespace}/{name}/{version}/members', {
      params: { path },
      signal,
    }),
  );
}

interface Line {
  readonly name: string;
  readonly text?: string | undefined;
  readonly href?: string | undefined;
}

/**
 * The members of a version; members that start something come first.
 *
 * @param registry where to look up the servers; if absent, they are not looked up.
 */
export function MembersSection({ registry, members }: { registry?: string; members: Members }): JSX.Element {
  const { servers = [], hooks = [], lsp = [], executables = [], unreadable = [] } = members;
  const { skills = [], commands = [], agents = [] } = members;
  const links = useLinks(registry, servers);
  const named = (names: readonly string[]): Line[] => names.map((name) => ({ name }));
  const lists: readonly (readonly [string, readonly Line[]])[] = [
    ['Could not be read', named(unreadable)],
    ['Runs commands', hooks.map(({ event, command }) => ({ name: event, text: command }))],
    [
      'Servers',
      servers.map(({ name, url, command }, at) => ({ name, text: url ?? command, href: links[at] })),
    ],
    ['Language servers', lsp.map(({ name, command }) => ({ name, text: command }))],
    ['Programs', named(executables)],
    ['Skills', skills.map(({ name, description }) => ({ name, text: description }))],
    ['Commands', named(commands)],
    ['Agents', named(agents)],
  ];
  const filled = lists.filter(([, lines]) => lines.length > 0);
  if (filled.length === 0) return <></>;
  return (
    <section>
      <h2>Contains</h2>
      {filled.map(([title, lines]) => (
        <MemberList key={title} title={title} lines={lines} />
      ))}
    </section>
  );
}

function MemberList({ title, lines }: { title: string; lines: readonly Line[] }): JSX.Element {
  return (
    <>
      <h3>
        {title} <span class="muted">{lines.length}</span>
      </h3>
      <CollapsedList items={lines} count={SHOWN}>
        {(shown) => (
          <ul class="files">
            {shown.map(({ name, text, href }, index) => (
              <li key={index}>
                {href === undefined ? (
                  <UntrustedText text={name} class="break" />
                ) : (
                  <a href={href}>
                    <UntrustedText text={name} class="break" />
                  </a>
                )}{' '}
                {text !== undefined && <UntrustedText text={text} class="break muted" />}
              </li>
            ))}
          </ul>
        )}
      </CollapsedList>
    </>
  );
}

/** Returns the pages of the servers that the registry has, in the order of the members. */
function useLinks(
  registry: string | undefined,
  servers: readonly MemberServer[],
): readonly (string | undefined)[] {
  const asked = registry === undefined ? [] : servers.slice(0, MAX_LINKED);
  const query = useQuery(asked.length === 0 ? null : JSON.stringify([registry, asked]), async (signal) => {
    const links: (string | undefined)[] = [];
    if (registry === undefined) return links;
    for (const { packages = [], url } of asked) {
      const tokens = [...packages.map(tokenOf), ...(url === undefined ? [] : [`url:${url}`])];
      const results: FoundEntry[][] = [];
      if (tokens.length <= MAX_TOKENS)
        for (const token of tokens) results.push(await entriesWith(registry, [token], 'server', signal));
      const found = representingEntry(results);
      links.push(found && entryHash(registry, found));
    }
    return links;
  });
  return query.value ?? [];
}
