import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { answer, api } from '../api/client.js';
import type { EntryType, ManagedEntry, Status } from '../api/types.js';
import { useAnswer } from '../api/use-answer.js';
import { goTo } from '../navigation/route.js';
import { useSession } from '../session/session.js';
import { DangerButton, useAct } from '../ui/act.js';
import { Answered } from '../ui/answered.js';
import { Badge } from '../ui/badge.js';
import { Plain } from '../ui/plain.js';
import { Refusal } from '../ui/refusal.js';
import { Table } from '../ui/table.js';
import { Day } from '../ui/time.js';
import { EntryClaims } from './entry-claims.js';

interface Props {
  readonly type: EntryType;
  readonly name: string;
}

type Version = ManagedEntry['versions'][number];

const COLUMNS = ['Version', 'Status', 'Published', 'By', { title: 'Delete', isHidden: true }];
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
            <EntryClaims entry={entry} type={type} again={asked.again} />
            <section>
              <h2>Versions</h2>
              <Table columns={COLUMNS}>
                {entry.versions.map((version) => (
                  <VersionRow
                    key={`${version.version} ${version.status} ${version.statusMessage ?? ''}`}
                    {...path}
                    version={version}
                    again={asked.again}
                    isLast={entry.versions.length === 1}
                  />
                ))}
              </Table>
            </section>
          </div>
        )}
      </Answered>
    </>
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
  const isChanged = to !== status || message.trim() !== (statusMessage ?? '');
  const isMine = publishedBy?.subject === me?.subject && publishedBy?.issuer === me?.claims?.['iss'];
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
          {(isChanged || message !== '' || status !== 'active') && (
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
          <Plain text={isMine ? 'you' : publishedBy.subject} class="break" />
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
