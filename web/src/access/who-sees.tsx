import type { JSX } from 'preact';
import { api, type Failure, failureFrom, unwrap } from '../api/client.js';
import type { Claims, EntryType, WhoHasAccess } from '../api/types.js';
import { ClaimChips } from '../claims/claims-editor.js';
import { hashOf } from '../navigation/route.js';
import { isOffered, useSession } from '../session/session.js';
import { QueryResult, useQuery } from '../ui/query.js';
import { Table } from '../ui/table.js';
import { escapeInvisible, UntrustedText } from '../ui/untrusted-text.js';
import { queryOf } from './question-form.js';

interface Props {
  readonly type: EntryType;
  readonly name: string;
  /** Empty to ask about every registry that shows the entry, which is known only for published entries. */
  readonly registry: string;
}

/** Publishers ask about published entries, registry managers about any entry in the registry. */
async function readWho({ type, name, registry }: Props, signal: AbortSignal): Promise<WhoHasAccess> {
  const readers = [
    () => api.GET('/v1/entries/{type}/{name}/access', { params: { path: { type, name } }, signal }),
    () =>
      api.GET('/v1/registries/{name}/access', {
        params: { path: { name: registry }, query: { type, entry: name } },
        signal,
      }),
  ];
  let refusal: Failure | undefined;
  for (const read of registry === '' ? readers.slice(0, 1) : readers)
    try {
      return await unwrap<WhoHasAccess>(read());
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      refusal ??= failureFrom(thrown);
      if (![403, 404].includes(refusal.status)) break;
    }
  throw refusal ?? new Error('No reader');
}

/** `#/access/who/{type}/{name}[?registry]`: the claims that make an entry visible. */
export function WhoSees(props: Props): JSX.Element {
  const { type, name, registry } = props;
  const query = useQuery(JSON.stringify(props), (signal) => readWho(props, signal));
  return (
    <>
      <p class="trail">
        <a href="#/access">← Access</a>
      </p>
      <h1>
        Who sees <UntrustedText text={name} class="break" />
      </h1>
      <QueryResult query={query}>
        {(who) => (
          <div class="stack">
            <Grants who={who} asked={registry} />
            <OtherWays who={who} />
            <p>
              <a
                href={hashOf(['access'], {
                  registry,
                  type: type === 'server' ? '' : type,
                  entry: name,
                  as: '{}',
                })}
              >
                Why can't someone see it?
              </a>
            </p>
          </div>
        )}
      </QueryResult>
    </>
  );
}

interface GrantsProps {
  readonly who: WhoHasAccess;
  /** Registry to show for claim sets that do not name one. Empty if every claim set names its registry. */
  readonly asked: string;
}

function Grants({ who: { claimSets, anonymous, isCut }, asked }: GrantsProps): JSX.Element {
  const mayPreview = isOffered(useSession(), 'manageRegistries');
  return (
    <section>
      {claimSets.length === 0 && !anonymous ? (
        <p>Visible to super-admins only.</p>
      ) : (
        <Table columns={['Everybody who holds', 'In registry', { title: 'Preview', isHidden: true }]}>
          {claimSets.map(({ claims, sentence, registry = asked, source }, index) => (
            <tr key={index} title={escapeInvisible(sentence)}>
              <td>
                <ClaimChips claims={claims as Claims} none="any token" />
              </td>
              <td>
                <UntrustedText text={registry} />
                {source !== undefined && (
                  <span class="muted">
                    {' '}
                    from <UntrustedText text={source} />
                  </span>
                )}
              </td>
              <td class="end">
                {mayPreview && <a href={previewOf(registry, claims as Claims)}>What they see</a>}
              </td>
            </tr>
          ))}
        </Table>
      )}
      {isCut === true && <p class="muted">Other claims make it visible too; they are not listed.</p>}
    </section>
  );
}

function previewOf(registry: string, claims: Claims): string {
  return hashOf(['access'], queryOf({ registry, type: 'server', entry: '', action: 'see', as: { claims } }));
}

function OtherWays({ who }: { who: WhoHasAccess }): JSX.Element {
  const { anonymous, keys, shadowedBy = [], managedBy } = who;
  return (
    <>
      {(anonymous || keys.length > 0) && (
        <section>
          <h2>Without a token</h2>
          {anonymous && <p>Everybody sees it: the registry allows anonymous access.</p>}
          {keys.map(({ name, registry }) => (
            <p key={`${registry} ${name}`}>
              Holders of the key <UntrustedText text={name} /> of <UntrustedText text={registry} />
            </p>
          ))}
        </section>
      )}
      {shadowedBy.length > 0 && (
        <section>
          <h2>Hidden behind an earlier source</h2>
          {shadowedBy.map(({ by, registry }) => (
            <p key={registry}>
              In <UntrustedText text={registry} />, people who see the entry of the same name in{' '}
              <UntrustedText text={by.join(', ')} /> do not see this one.
            </p>
          ))}
        </section>
      )}
      <section>
        <h2>Who manages it</h2>
        <ul>
          {managedBy.map(({ role, sentence }, index) => (
            <li key={index}>
              {ROLE_LABELS[role]}: <UntrustedText text={sentence} class="break" />
            </li>
          ))}
        </ul>
      </section>
    </>
  );
}

const ROLE_LABELS: Readonly<Record<WhoHasAccess['managedBy'][number]['role'], string>> = {
  superAdmin: 'Super-admins',
  manageSources: 'Managers of sources',
  manageRegistries: 'Managers of registries',
  manageEntries: 'Publishers',
};
