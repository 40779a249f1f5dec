import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { api, unwrap, unwrapWithEtag } from '../api/client.js';
import { statusesOf } from '../api/entry-types.js';
import type { Claims, EntryType, ManagedEntry, Status } from '../api/types.js';
import { isSamePerson } from '../admission/items.js';
import { accessChange } from '../claims/access-change.js';
import { ClaimChips, ClaimPicker } from '../claims/claims-editor.js';
import { hashOf, navigate } from '../navigation/route.js';
import { useSession } from '../session/session.js';
import { DangerButton, useAction } from '../ui/action.js';
import { Badge } from '../ui/badge.js';
import { Day } from '../ui/format.js';
import { QueryResult, useQuery } from '../ui/query.js';
import { Refusal } from '../ui/refusal.js';
import { Table } from '../ui/table.js';
import { UntrustedText } from '../ui/untrusted-text.js';
import { WaitingItems } from './waiting-items.js';

interface EntryKey {
  readonly type: EntryType;
  readonly name: string;
}

type Version = ManagedEntry['versions'][number];

const COLUMNS = ['Version', 'Status', 'Published', 'By', { title: 'Delete', isHidden: true }];

/** A published entry: its claims and the status of its versions. */
export function ManagedEntryPage({ type, name }: EntryKey): JSX.Element {
  const path = { type, name };
  const query = useQuery(`${type} ${name}`, (signal) =>
    unwrap(api.GET('/v1/entries/{type}/{name}', { params: { path }, signal })),
  );
  const [count, setCount] = useState(0);
  const refresh = () => {
    query.refetch();
    setCount(count + 1);
  };
  return (
    <>
      <p class="trail">
        <a href="#/publish">← Publish</a>
      </p>
      <div class="page-head">
        <h1>
          <UntrustedText text={name} class="break" />
        </h1>
        {query.value && (
          <p class="buttons">
            <a class="button primary" href={hashOf(['publish'], { type, name })}>
              New version
            </a>
            <a class="button" href={hashOf(['access', 'who', type, name])}>
              Who sees this
            </a>
          </p>
        )}
      </div>
      <WaitingItems filter={{ type, name }} refreshKey={String(count)} />
      <QueryResult query={query}>
        {(entry) => (
          <div class="stack">
            <EntryClaims entry={entry} type={type} refresh={refresh} />
            <section>
              <h2>Versions</h2>
              <Table columns={COLUMNS}>
                {entry.versions.map((version) => (
                  <VersionRow
                    key={`${version.version} ${version.status} ${version.statusMessage ?? ''}`}
                    {...path}
                    version={version}
                    refresh={refresh}
                    isLast={entry.versions.length === 1}
                  />
                ))}
              </Table>
            </section>
          </div>
        )}
      </QueryResult>
    </>
  );
}

interface RowProps extends EntryKey {
  readonly version: Version;
  readonly isLast: boolean;
  readonly refresh: () => void;
}

function VersionRow({ type, name, version: stored, isLast, refresh }: RowProps): JSX.Element {
  const { version, status, statusMessage, isLatest, publishedAt, publishedBy } = stored;
  const { me } = useSession();
  const [to, setTo] = useState<Status>(status);
  const [message, setMessage] = useState(statusMessage ?? '');
  const path = { type, name, version };
  const save = useAction(async () => {
    const body = { status: to, ...(message.trim() === '' ? {} : { statusMessage: message.trim() }) };
    await unwrap(
      api.PATCH('/v1/entries/{type}/{name}/versions/{version}/status', { params: { path }, body }),
    );
    refresh();
  });
  const isChanged = to !== status || message.trim() !== (statusMessage ?? '');
  const isMine = isSamePerson(publishedBy, me);
  return (
    <tr>
      <th scope="row">
        <UntrustedText text={version} class="break version" />{' '}
        {isLatest && <span class="badge plain">latest</span>}
      </th>
      <td>
        <span class="status-edit">
          <select
            aria-label={`Status of ${version}`}
            value={to}
            onChange={(event) => setTo(event.currentTarget.value as Status)}
          >
            {statusesOf(type).map((each) => (
              <option key={each} value={each}>
                {each === 'deleted' ? 'Deleted (can be undone)' : each}
              </option>
            ))}
          </select>
          {!isChanged && status !== 'active' && <Badge state={status} />}
          {(isChanged || message !== '' || status !== 'active') && (
            <input
              type="text"
              aria-label={`Status message of ${version}`}
              placeholder="message shown to readers"
              maxLength={500}
              value={message}
              onInput={(event) => setMessage(event.currentTarget.value)}
            />
          )}
          {isChanged && (
            <button type="button" class="small primary" onClick={save.run} disabled={save.isPending}>
              Set
            </button>
          )}
        </span>
        {save.failure && <Refusal failure={save.failure} />}
      </td>
      <td>
        <Day at={publishedAt} />
      </td>
      <td>
        {publishedBy?.subject ? (
          <UntrustedText text={isMine ? 'you' : (publishedBy.name ?? publishedBy.subject)} class="break" />
        ) : (
          <span class="muted">–</span>
        )}
      </td>
      <td class="end">
        <DangerButton
          label="Delete for good"
          question={`Delete version ${version} for good?`}
          act={async () => {
            await unwrap(api.DELETE('/v1/entries/{type}/{name}/versions/{version}', { params: { path } }));
            if (isLast) navigate('#/publish');
            else refresh();
          }}
        >
          This cannot be undone{isLast ? ' and also deletes the entry' : ''}. The status{' '}
          {type === 'server' ? '“Deleted”' : '“archived”'} hides a version, and can be undone.
        </DangerButton>
      </td>
    </tr>
  );
}

interface EntryClaimsProps {
  readonly type: EntryType;
  readonly entry: ManagedEntry;
  readonly refresh: () => void;
}

/** Edited claims, with the ETag of the stored claims that they replace. */
interface Draft {
  readonly claims: Claims;
  readonly etag: string | null;
}

/** Edits the claims of an entry. Saving is conditional, so it never overwrites a concurrent change. */
function EntryClaims({ type, entry, refresh }: EntryClaimsProps): JSX.Element {
  const path = { type, name: entry.name };
  const [draft, setDraft] = useState<Draft>();
  const edit = useAction(async () => {
    const { value, etag } = await unwrapWithEtag(
      api.GET('/v1/entries/{type}/{name}/claims', { params: { path } }),
    );
    setDraft({ claims: value.claims, etag });
  });
  const put = async () => {
    if (!draft) return;
    await unwrap(
      api.PUT('/v1/entries/{type}/{name}/claims', {
        params: { path, header: draft.etag === null ? {} : { 'If-Match': draft.etag } },
        body: { claims: draft.claims as Record<string, string | string[]> },
      }),
    );
    setDraft(undefined);
    refresh();
  };
  const save = useAction(put);
  const changes = draft ? accessChange(entry.claims as Claims, draft.claims) : [];
  const isClearing =
    draft !== undefined && Object.keys(draft.claims).length === 0 && Object.keys(entry.claims).length > 0;
  const cancel = () => {
    setDraft(undefined);
    save.reset();
    // The claims shown may be out of date.
    refresh();
  };
  return (
    <section>
      <h2>Claims</h2>
      <p>
        <ClaimChips claims={draft?.claims ?? entry.claims} none="No claims: visible to super-admins only" />{' '}
        {!draft && (
          <button type="button" class="small" onClick={edit.run} disabled={edit.isPending}>
            Change
          </button>
        )}
      </p>
      {edit.failure && <Refusal failure={edit.failure} />}
      {draft && (
        <>
          <ClaimPicker claims={draft.claims} change={(claims) => setDraft({ ...draft, claims })} />
          {changes.map((sentence) => (
            <p key={sentence} class="notice">
              <UntrustedText text={sentence} class="break" />
            </p>
          ))}
          {save.failure && <Refusal failure={save.failure} />}
          <p class="buttons form-end">
            {isClearing ? (
              <DangerButton label="Save claims" question="Remove all claims?" act={put}>
                <UntrustedText text={changes.join(' ')} class="break" /> Only super-admins will see the entry.
              </DangerButton>
            ) : (
              <button type="button" class="primary" onClick={save.run} disabled={save.isPending}>
                Save claims
              </button>
            )}
            <button type="button" onClick={cancel}>
              Cancel
            </button>
          </p>
        </>
      )}
    </section>
  );
}
