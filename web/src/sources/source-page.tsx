import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { answer, api } from '../api/client.js';
import type { Source } from '../api/types.js';
import { useAnswer } from '../api/use-answer.js';
import { goTo, hashOf } from '../navigation/route.js';
import { DangerButton, useAct } from '../ui/act.js';
import { Answered } from '../ui/answered.js';
import { Badge } from '../ui/badge.js';
import { ClaimChips } from '../ui/claims.js';
import { Plain } from '../ui/plain.js';
import { Refusal } from '../ui/refusal.js';
import { Ago } from '../ui/time.js';
import { Runs } from './runs.js';
import { Settings } from './settings.js';
import { Skipped } from './skipped.js';

const LOOK_AGAIN_MS = 1_500;

export function SourcePage({ name }: { name: string }): JSX.Element {
  const asked = useAnswer(name, (signal) =>
    answer(api.GET('/v1/sources/{name}', { params: { path: { name } }, signal })),
  );
  const isSyncing = asked.value?.sync?.status === 'syncing' || asked.value?.sync?.status === 'pending';
  const { again } = asked;
  useEffect(() => {
    if (!isSyncing || asked.isWaiting) return undefined;
    const timer = setTimeout(again, LOOK_AGAIN_MS);
    return () => clearTimeout(timer);
  }, [isSyncing, asked.isWaiting, again]);
  return (
    <>
      <p class="trail">
        <a href="#/sources">← Sources</a>
      </p>
      <Answered asked={asked}>{(source) => <Shown source={source} again={again} />}</Answered>
    </>
  );
}

function Shown({ source, again }: { source: Source; again: () => void }): JSX.Element {
  const { name, kind, sync, origin, claims } = source;
  const start = useAct(async () => {
    await answer(api.POST('/v1/sources/{name}/sync', { params: { path: { name } } }));
    again();
  });
  const startAnyway = useAct(async () => {
    await answer(
      api.POST('/v1/sources/{name}/sync', { params: { path: { name } }, body: { allowShrink: true } }),
    );
    again();
  });
  return (
    <div class="stack">
      <div class="page-head">
        <h1>
          <Plain text={name} class="break" /> {sync && <Badge state={sync.status} />}
        </h1>
        <p class="buttons">
          {sync && (
            <button
              type="button"
              onClick={start.run}
              disabled={start.isUnderWay || sync.status === 'syncing'}
            >
              Sync now
            </button>
          )}
          {origin === 'api' && (
            <>
              <a class="button" href={hashOf(['sources', name, 'edit'])}>
                Edit
              </a>
              <DangerButton
                label="Delete"
                question={`Delete the source ${name}?`}
                act={async () => {
                  await answer(api.DELETE('/v1/sources/{name}', { params: { path: { name } } }));
                  goTo('#/sources');
                }}
              >
                Its entries go with it, and whoever reads them in a registry no longer sees them.
              </DangerButton>
            </>
          )}
        </p>
      </div>
      {start.failure && <Refusal failure={start.failure} />}
      {sync?.error !== undefined && (
        <div class="refusal">
          <p class="refusal-sentence">
            <Plain text={sync.error} class="break" />
          </p>
          <p class="refusal-source">
            {sync.attempts > 1 ? `${sync.attempts} runs in a row have failed; ` : ''}the earlier entries stay.
          </p>
          {/^shrunk\b|fewer than half/.test(sync.error) && (
            <button type="button" onClick={startAnyway.run} disabled={startAnyway.isUnderWay}>
              Sync and let it lose most of its entries
            </button>
          )}
          {startAnyway.failure && <Refusal failure={startAnyway.failure} />}
        </div>
      )}
      <dl class="facts">
        <dt>Kind</dt>
        <dd>{kind}</dd>
        <dt>Declared</dt>
        <dd>
          {origin === 'config' ? 'in the configuration file, and changed there only' : 'through the API'}
        </dd>
        <dt>Claims</dt>
        <dd>
          <ClaimChips claims={claims} />
        </dd>
        {sync && <SyncFacts sync={sync} />}
      </dl>
      {sync && <Runs name={name} />}
      {sync && <Skipped skipped={sync.skipped} />}
      <Settings source={source} />
    </div>
  );
}

function SyncFacts({ sync }: { sync: NonNullable<Source['sync']> }): JSX.Element {
  const { lastAttemptAt, lastSuccessAt, nextRunAt, counts } = sync;
  return (
    <>
      <dt>Last success</dt>
      <dd>{lastSuccessAt ? <Ago at={lastSuccessAt} /> : 'never'}</dd>
      {sync.status === 'failed' && lastAttemptAt && (
        <>
          <dt>Last attempt</dt>
          <dd>
            <Ago at={lastAttemptAt} />
          </dd>
        </>
      )}
      {nextRunAt && (
        <>
          <dt>Next run</dt>
          <dd>
            <Ago at={nextRunAt} />
          </dd>
        </>
      )}
      <dt>Last run that wrote</dt>
      <dd>
        {Object.entries(counts)
          .filter(([key, count]) => count > 0 || key === 'entries')
          .map(([key, count]) => `${count.toLocaleString('en')} ${key}`)
          .join(', ') || 'nothing yet'}
      </dd>
    </>
  );
}
