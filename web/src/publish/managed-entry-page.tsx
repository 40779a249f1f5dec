import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { answer, api } from '../api/client.js';
import { failureOf } from '../api/failure.js';
import type { Claims, EntryType, ManagedEntry, Status } from '../api/types.js';
import { useAnswer } from '../api/use-answer.js';
import { goTo } from '../navigation/route.js';
import { useSession } from '../session/session.js';
import { DangerButton, useAct } from '../ui/act.js';
import { Answered } from '../ui/answered.js';
import { Badge } from '../ui/badge.js';
import { ClaimChips, claimsKey } from '../ui/claims.js';
import { Plain } from '../ui/plain.js';
import { Refusal } from '../ui/refusal.js';
import { Day } from '../ui/time.js';
import { OwnClaims } from './own-claims.js';

interface Props {
  readonly type: EntryType;
  readonly name: string;
}

type Version = ManagedEntry['versions'][number];

const STATUSES: Readonly<Record<EntryType, readonly Status[]>> = {
  server: ['active', 'deprecated', 'deleted'],
  skill: ['active', 'deprecated', 'archived'],
  plugin: ['active', 'deprecated', 'archived'],
};

/** A published entry: its claims, and the status of its versions. */
export function ManagedEntryPage({ type, name }: Props): JSX.Element {
  const path = { type, name };
  const asked = useAnswer(`${type} ${name}`, (signal) =>
    answer(api.GET('/v1/entries/{type}/{name}', { params: { path }, signal })),
  );
  return (
    <>
      <p class="trail">
        <a href="#/publish">← Publish</a>
      </p>
      <h1>
        <Plain text={name} class="break" />
      </h1>
      <Answered asked={asked}>
        {(entry) => (
          <div class="stack">
            <EntryClaims key={claimsKey(entry.claims)} entry={entry} type={type} again={asked.again} />
            <section>
              <h2>Versions</h2>
              <div class="table-frame">
                <table>
                  <thead>
                    <tr>
                      <th scope="col">Version</th>
                      <th scope="col">Status</th>
                      <th scope="col">Published</th>
                      <th scope="col">By</th>
                      <th scope="col">
                        <span class="hidden">Delete</span>
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {entry.versions.map((version) => (
                      <VersionRow
                        key={version.version}
                        {...path}
                        version={version}
                        again={asked.again}
                        isLast={entry.versions.length === 1}
                      />
                    ))}
                  </tbody>
                </table>
              </div>
            </section>
          </div>
        )}
      </Answered>
    </>
  );
}

function EntryClaims({
  entry,
  type,
  again,
}: {
  entry: ManagedEntry;
  type: EntryType;
  again: () => void;
}): JSX.Element {
  const { name } = entry;
  const [isEdited, setEdited] = useState(false);
  const [claims, setClaims] = useState<Claims>(entry.claims);
  const save = useAct(async () => {
    const path = { type, name };
    const read = await api.GET('/v1/entries/{type}/{name}/claims', { params: { path } });
    if (!read.data) throw failureOf(read.response.status, read.error);
    // Somebody else may have changed them since they were shown.
    if (claimsKey(read.data.claims) !== claimsKey(entry.claims)) again();
    const etag = read.response.headers.get('ETag');
    await answer(
      api.PUT('/v1/entries/{type}/{name}/claims', {
        params: { path, header: etag === null ? {} : { 'If-Match': etag } },
        body: { claims: claims as Record<string, string | string[]> },
      }),
    );
    setEdited(false);
    again();
  });
  return (
    <section>
      <h2>Claims</h2>
      <p>
        <ClaimChips claims={isEdited ? claims : entry.claims} none="none: super-admins only see it" />{' '}
        {!isEdited && (
          <button type="button" class="small" onClick={() => setEdited(true)}>
            Change
          </button>
        )}
      </p>
      {isEdited && (
        <>
          <OwnClaims claims={claims} change={setClaims} />
          {save.failure && <Refusal failure={save.failure} />}
          <p class="buttons form-end">
            <button type="button" class="primary" onClick={save.run} disabled={save.isUnderWay}>
              Save claims
            </button>
            <button
              type="button"
              onClick={() => {
                setEdited(false);
                setClaims(entry.claims);
                save.forget();
              }}
            >
              Cancel
            </button>
          </p>
        </>
      )}
    </section>
  );
}

interface RowProps extends Props {
  readonly version: Version;
  readonly isLast: boolean;
  readonly again: () => void;
}

function VersionRow({ type, name, version: of, isLast, again }: RowProps): JSX.Element {
  const { version, status, statusMessage, isLatest, publishedAt, publishedBy } = of;
  const { me } = useSession();
  const [to, setTo] = useState<Status>(status);
  const [message, setMessage] = useState(statusMessage ?? '');
  const path = { type, name, version };
  const save = useAct(async () => {
    const body = { status: to, ...(message.trim() === '' ? {} : { statusMessage: message.trim() }) };
    await answer(
      api.PATCH('/v1/entries/{type}/{name}/versions/{version}/status', { params: { path }, body }),
    );
    again();
  });
  const isChanged = to !== status || message !== (statusMessage ?? '');
  return (
    <tr>
      <th scope="row">
        <Plain text={version} class="break version" /> {isLatest && <span class="badge plain">latest</span>}
      </th>
      <td>
        <span class="status-edit">
          <select
            aria-label={`Status of ${version}`}
            value={to}
            onChange={(event) => setTo(event.currentTarget.value as Status)}
          >
            {STATUSES[type].map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
          {!isChanged && status !== 'active' && <Badge state={status} />}
          {(isChanged || message !== '') && (
            <input
              type="text"
              aria-label={`Message of ${version}`}
              placeholder="why, for whoever reads it"
              maxLength={500}
              value={message}
              onInput={(event) => setMessage(event.currentTarget.value)}
            />
          )}
          {isChanged && (
            <button type="button" class="small primary" onClick={save.run} disabled={save.isUnderWay}>
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
          <Plain text={publishedBy.subject === me?.subject ? 'you' : publishedBy.subject} class="break" />
        ) : (
          <span class="muted">–</span>
        )}
      </td>
      <td class="end">
        <DangerButton
          label="Delete"
          question={`Delete version ${version}?`}
          act={async () => {
            await answer(api.DELETE('/v1/entries/{type}/{name}/versions/{version}', { params: { path } }));
            if (isLast) goTo('#/publish');
            else again();
          }}
        >
          It is gone for good{isLast ? ', and the entry with it' : ''}. A status says the same to clients and
          can be taken back.
        </DangerButton>
      </td>
    </tr>
  );
}
