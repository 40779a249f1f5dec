import { Fragment, type JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { api, unwrap } from '../api/client.js';
import { ENTRY_TYPES } from '../api/entry-types.js';
import type { Source, SourceAccess, SourceSync } from '../api/types.js';
import { ClaimChips } from '../claims/claims-editor.js';
import { settingsOf, without } from '../forms/schema.js';
import { hashOf, NEW_NAME } from '../navigation/route.js';
import { EntryTable } from '../resources/entry-table.js';
import { BackToList, OriginDetail, ResourceHeader } from '../resources/resource-pages.js';
import { isOffered, useSession } from '../session/session.js';
import { useAction } from '../ui/action.js';
import { Badge } from '../ui/badge.js';
import { Ago, pluralize } from '../ui/format.js';
import { HiddenTitle, QueryResult, useQuery } from '../ui/query.js';
import { Refusal } from '../ui/refusal.js';
import { CollapsedList, Detail, DetailList, Table } from '../ui/table.js';
import { Code, UntrustedText } from '../ui/untrusted-text.js';
import { FORMATS } from './formats.js';
import { isUnlabeled } from './source-claims.js';
import { SyncRuns } from './sync-runs.js';

const POLL_MS = 1_500;
/** How long to poll for a requested sync that has not started. */
const START_TIMEOUT_MS = 30_000;

/** A sync requested from this page that might not have started yet. */
interface RequestedSync {
  readonly previousAttemptAt: string | null;
  readonly pollUntil: number;
}

export function SourcePage({ name }: { name: string }): JSX.Element {
  const query = useQuery(name, (signal) =>
    unwrap(api.GET('/v1/sources/{name}', { params: { path: { name } }, signal })),
  );
  const [requested, setRequested] = useState<RequestedSync>();
  const { refetch, isLoading } = query;
  const sync = query.value?.sync;
  const isStarting =
    requested !== undefined &&
    sync?.lastAttemptAt === requested.previousAttemptAt &&
    Date.now() < requested.pollUntil;
  const isSyncing = isStarting || sync?.status === 'syncing' || sync?.status === 'pending';
  useEffect(() => {
    if (!isSyncing || isLoading) return undefined;
    const timer = setTimeout(refetch, POLL_MS);
    return () => clearTimeout(timer);
  }, [isSyncing, isLoading, refetch]);
  const start = async (allowShrink: boolean) => {
    const body = allowShrink ? { allowShrink } : undefined;
    await unwrap(api.POST('/v1/sources/{name}/sync', { params: { path: { name } }, ...(body && { body }) }));
    setRequested({
      previousAttemptAt: sync?.lastAttemptAt ?? null,
      pollUntil: Date.now() + START_TIMEOUT_MS,
    });
    refetch();
  };
  return (
    <>
      <BackToList resource="sources" />
      {!query.value && <HiddenTitle text={name} />}
      <QueryResult query={query}>
        {(source) => <SourceDetails source={source} isSyncing={isSyncing} start={start} />}
      </QueryResult>
    </>
  );
}

interface SourceDetailsProps {
  readonly source: Source;
  readonly isSyncing: boolean;
  readonly start: (allowShrink: boolean) => Promise<void>;
}

function SourceDetails({ source, isSyncing, start }: SourceDetailsProps): JSX.Element {
  const { name, kind, sync, origin, claims } = source;
  const starting = useAction(() => start(false));
  const access = useQuery(`${name} ${sync?.lastSuccessAt ?? ''}`, (signal) =>
    unwrap(api.GET('/v1/sources/{name}/access', { params: { path: { name } }, signal })),
  );
  return (
    <div class="stack">
      <ResourceHeader
        resource="sources"
        name={name}
        origin={origin}
        state={sync && <Badge state={isSyncing ? 'syncing' : sync.status} />}
        deletionNote="Its entries are deleted too and disappear from all registries."
        remove={() => unwrap(api.DELETE('/v1/sources/{name}', { params: { path: { name } } }))}
      >
        {sync && (
          <button type="button" onClick={starting.run} disabled={starting.isPending || isSyncing}>
            Sync now
          </button>
        )}
      </ResourceHeader>
      {starting.failure && <Refusal failure={starting.failure} />}
      {sync?.error !== undefined && <SyncError sync={sync} startAnyway={() => start(true)} />}
      <Unlabeled source={source} />
      <Unused source={source} access={access.value} />
      <DetailList>
        <Detail name="Kind">{kind}</Detail>
        <OriginDetail origin={origin} />
        <Detail name="Claims">
          <ClaimChips claims={claims} />
        </Detail>
        {access.value && (
          <>
            <Detail name="Entries">{countsText(access.value.counts)}</Detail>
            <Detail name="In registries">
              <RegistryLinks names={access.value.registries} />
            </Detail>
          </>
        )}
        {sync && <SyncDetails sync={sync} />}
      </DetailList>
      {access.failure && <Refusal failure={access.failure} retry={access.refetch} />}
      {sync && <SyncRuns name={name} lastSuccessAt={sync.lastSuccessAt} />}
      {sync && (
        <SkippedEntries skipped={sync.skipped} count={sync.counts['skipped'] ?? sync.skipped.length} />
      )}
      <SourceEntries name={name} />
      <Settings source={source} />
    </div>
  );
}

/** A source without claims hides its entries from everybody but super-admins. */
function Unlabeled({ source }: { source: Source }): JSX.Element {
  const { settings } = useSession();
  if (!settings.checksClaims || !isUnlabeled(source)) return <></>;
  return (
    <p class="notice">
      Only super-admins see the entries of this source, because it has no claims.{' '}
      {source.origin === 'api' ? (
        <a href={hashOf(['sources', source.name, 'edit'])}>Choose who sees them</a>
      ) : (
        'Its claims are set in the configuration file.'
      )}
    </p>
  );
}

interface UnusedProps {
  readonly source: Source;
  readonly access: SourceAccess | undefined;
}

/** The next step for a source that no registry shows. */
function Unused({ source: { name }, access }: UnusedProps): JSX.Element {
  const session = useSession();
  if (!access || access.registries.length > 0) return <></>;
  return (
    <p class="notice">
      None of your registries shows this source.{' '}
      {isOffered(session, 'manageRegistries') && (
        <>
          <a href={hashOf(['registries', NEW_NAME], { source: name })}>Create a registry with it</a>, or add
          it to <a href="#/registries">one that exists</a>.
        </>
      )}
    </p>
  );
}

function RegistryLinks({ names }: { names: readonly string[] }): JSX.Element {
  const session = useSession();
  const [section, none] = isOffered(session, 'manageRegistries')
    ? ['registries', 'none of yours']
    : ['catalogue', 'none that you may enter'];
  if (names.length === 0) return <span class="muted">{none}</span>;
  return (
    <>
      {names.map((name, index) => (
        <Fragment key={name}>
          {index > 0 && ', '}
          <a href={hashOf([section ?? '', name])}>
            <UntrustedText text={name} class="break" />
          </a>
        </Fragment>
      ))}
    </>
  );
}

/** `12 servers, 3 skills` */
function countsText(counts: SourceAccess['counts']): string {
  const present = ENTRY_TYPES.filter((type) => counts[type] > 0);
  return present.map((type) => pluralize(counts[type], type)).join(', ') || 'none';
}

function SyncDetails({ sync }: { sync: SourceSync }): JSX.Element {
  const { status, lastAttemptAt, lastSuccessAt, nextRunAt, format, counts } = sync;
  const summary = Object.entries(counts)
    .filter(([key, count]) => count > 0 || key === 'entries')
    .map(([key, count]) => `${count.toLocaleString('en')} ${key}`);
  return (
    <>
      <Detail name="Last success">{lastSuccessAt ? <Ago at={lastSuccessAt} /> : 'never'}</Detail>
      {status === 'failed' && lastAttemptAt && (
        <Detail name="Last attempt">
          <Ago at={lastAttemptAt} />
        </Detail>
      )}
      {nextRunAt && (
        <Detail name="Next run">
          <Ago at={nextRunAt} />
        </Detail>
      )}
      {format !== undefined && <Detail name="Format">{FORMATS[format]}</Detail>}
      <Detail name="Last run with changes">{summary.join(', ') || 'none yet'}</Detail>
    </>
  );
}

interface SyncErrorProps {
  readonly sync: SourceSync;
  readonly startAnyway: () => Promise<void>;
}

/** Why the last run failed. If the source shrank, a button syncs it anyway. */
function SyncError({ sync: { error = '', attempts }, startAnyway }: SyncErrorProps): JSX.Element {
  const starting = useAction(startAnyway);
  return (
    <div class="refusal">
      <p class="refusal-sentence">
        <UntrustedText text={error} class="break" />
      </p>
      <p class="refusal-source">
        {attempts > 1 && `${attempts} runs in a row have failed. `}The previous entries remain.
      </p>
      {error.includes('allowShrink') && (
        <button type="button" onClick={starting.run} disabled={starting.isPending}>
          Sync and remove most entries
        </button>
      )}
      {starting.failure && <Refusal failure={starting.failure} />}
    </div>
  );
}

/** All entries, read when the section is opened. */
function SourceEntries({ name }: { name: string }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Entries</summary>
      {isOpen && (
        <EntryTable
          list={name}
          // Only some sources state when a version was published.
          dateTitle="Published or added"
          read={(query, signal) =>
            unwrap(api.GET('/v1/sources/{name}/entries', { params: { path: { name }, query }, signal }))
          }
          empty={<p class="muted">None.</p>}
        />
      )}
    </details>
  );
}

type SkippedEntry = NonNullable<Source['sync']>['skipped'][number];

const SKIPPED_SHOWN = 50;

interface SkippedEntriesProps {
  readonly skipped: readonly SkippedEntry[];
  /** The total number. The API lists only the first entries. */
  readonly count: number;
}

function SkippedEntries({ skipped, count }: SkippedEntriesProps): JSX.Element {
  if (skipped.length === 0) return <></>;
  return (
    <section>
      <h2>
        Skipped entries <span class="muted">{count.toLocaleString('en')}</span>
      </h2>
      <CollapsedList items={skipped} count={SKIPPED_SHOWN}>
        {(shown) => (
          <Table columns={['Entry', 'Version', 'Problems']}>
            {shown.map(({ name, version, reasons }, index) => (
              <tr key={index}>
                <th scope="row">
                  {!name ? <span class="muted">no name</span> : <UntrustedText text={name} class="break" />}
                </th>
                <td class="short">{version !== null && <UntrustedText text={version} class="break" />}</td>
                <td>
                  {reasons.map((reason, at) => (
                    <p key={at}>
                      <UntrustedText text={reason} class="break" />
                    </p>
                  ))}
                </td>
              </tr>
            ))}
          </Table>
        )}
      </CollapsedList>
      {count > skipped.length && (
        <p class="muted below">Only the first {skipped.length.toLocaleString('en')} are listed.</p>
      )}
    </section>
  );
}

/** All settings except the claims, which the page shows above. */
function Settings({ source }: { source: Source }): JSX.Element {
  const settings = without(settingsOf(source), 'claims');
  return (
    <section>
      <h2>Settings</h2>
      <Code text={JSON.stringify(settings, null, 2)} label="Settings" />
    </section>
  );
}
