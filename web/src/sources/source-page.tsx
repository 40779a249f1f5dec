import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { answer, api } from '../api/client.js';
import type { Source, SourceSync } from '../api/types.js';
import { useAnswer } from '../api/use-answer.js';
import { DeclaredBy, DeclaredHead, ToAll } from '../declared/declared-head.js';
import { useAct } from '../ui/act.js';
import { Answered } from '../ui/answered.js';
import { Badge } from '../ui/badge.js';
import { ClaimChips } from '../ui/claims.js';
import { Fact, Facts } from '../ui/facts.js';
import { Refusal } from '../ui/refusal.js';
import { Ago } from '../ui/time.js';
import { Runs } from './runs.js';
import { Settings } from './settings.js';
import { Skipped } from './skipped.js';
import { SyncError } from './sync-error.js';

const LOOK_AGAIN_MS = 1_500;
/** A run that somebody has asked for begins soon. When it has not, the server is busy, and the page no longer looks. */
const BEGINS_WITHIN_MS = 30_000;

/** A run that was asked for, and the last one before it. */
interface AskedFor {
  readonly after: string | null;
  readonly until: number;
}

export function SourcePage({ name }: { name: string }): JSX.Element {
  const asked = useAnswer(name, (signal) =>
    answer(api.GET('/v1/sources/{name}', { params: { path: { name } }, signal })),
  );
  const [askedFor, setAskedFor] = useState<AskedFor>();
  const { again, isWaiting } = asked;
  const sync = asked.value?.sync;
  const isAhead =
    askedFor !== undefined && sync?.lastAttemptAt === askedFor.after && Date.now() < askedFor.until;
  const isSyncing = isAhead || sync?.status === 'syncing' || sync?.status === 'pending';
  useEffect(() => {
    if (!isSyncing || isWaiting) return undefined;
    const timer = setTimeout(again, LOOK_AGAIN_MS);
    return () => clearTimeout(timer);
  }, [isSyncing, isWaiting, again]);
  const start = async (allowShrink: boolean) => {
    const body = allowShrink ? { allowShrink } : undefined;
    await answer(api.POST('/v1/sources/{name}/sync', { params: { path: { name } }, ...(body && { body }) }));
    setAskedFor({ after: sync?.lastAttemptAt ?? null, until: Date.now() + BEGINS_WITHIN_MS });
    again();
  };
  return (
    <>
      <ToAll place="sources" />
      <Answered asked={asked}>
        {(source) => <Shown source={source} isSyncing={isSyncing} start={start} />}
      </Answered>
    </>
  );
}

interface ShownProps {
  readonly source: Source;
  readonly isSyncing: boolean;
  readonly start: (allowShrink: boolean) => Promise<void>;
}

function Shown({ source, isSyncing, start }: ShownProps): JSX.Element {
  const { name, kind, sync, origin, claims } = source;
  const starting = useAct(() => start(false));
  return (
    <div class="stack">
      <DeclaredHead
        place="sources"
        name={name}
        origin={origin}
        state={sync && <Badge state={isSyncing ? 'syncing' : sync.status} />}
        deleting="Its entries go with it, and whoever reads them in a registry no longer sees them."
        remove={() => answer(api.DELETE('/v1/sources/{name}', { params: { path: { name } } }))}
      >
        {sync && (
          <button type="button" onClick={starting.run} disabled={starting.isUnderWay || isSyncing}>
            Sync now
          </button>
        )}
      </DeclaredHead>
      {starting.failure && <Refusal failure={starting.failure} />}
      {sync?.error !== undefined && <SyncError sync={sync} startAnyway={() => start(true)} />}
      <Facts>
        <Fact name="Kind">{kind}</Fact>
        <DeclaredBy origin={origin} />
        <Fact name="Claims">
          <ClaimChips claims={claims} />
        </Fact>
        {sync && <SyncFacts sync={sync} />}
      </Facts>
      {sync && <Runs name={name} after={sync.lastSuccessAt} />}
      {sync && <Skipped skipped={sync.skipped} count={sync.counts['skipped'] ?? sync.skipped.length} />}
      <Settings source={source} />
    </div>
  );
}

function SyncFacts({ sync }: { sync: SourceSync }): JSX.Element {
  const { status, lastAttemptAt, lastSuccessAt, nextRunAt, counts } = sync;
  const written = Object.entries(counts)
    .filter(([key, count]) => count > 0 || key === 'entries')
    .map(([key, count]) => `${count.toLocaleString('en')} ${key}`);
  return (
    <>
      <Fact name="Last success">{lastSuccessAt ? <Ago at={lastSuccessAt} /> : 'never'}</Fact>
      {status === 'failed' && lastAttemptAt && (
        <Fact name="Last attempt">
          <Ago at={lastAttemptAt} />
        </Fact>
      )}
      {nextRunAt && (
        <Fact name="Next run">
          <Ago at={nextRunAt} />
        </Fact>
      )}
      <Fact name="Last run that wrote">{written.join(', ') || 'nothing yet'}</Fact>
    </>
  );
}
