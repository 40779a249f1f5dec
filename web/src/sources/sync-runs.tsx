import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { readEvents } from '../activity/read-events.js';
import type { AuditEvent } from '../api/types.js';
import { Ago, exactTime, formatDuration, pluralize } from '../ui/format.js';
import { useQuery } from '../ui/query.js';
import { Refusal } from '../ui/refusal.js';
import { Table } from '../ui/table.js';

/** A sync run with changes. */
interface Run {
  readonly id: string;
  readonly time: string;
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly durationMs: number | undefined;
}

const MAX_RUNS = 30;
const RUN_CHANGES = ['added', 'changed', 'removed'] as const;

interface SyncRunsProps {
  readonly name: string;
  /** When this value changes, the runs are fetched again. */
  readonly lastSuccessAt: string | null;
}

/** The latest runs with changes, from the audit trail. */
export function SyncRuns({ name, lastSuccessAt }: SyncRunsProps): JSX.Element {
  const query = useQuery(name, (signal) =>
    readEvents({ action: 'sync.run', target: name, limit: MAX_RUNS }, signal),
  );
  const { refetch } = query;
  const shown = useRef(lastSuccessAt);
  useEffect(() => {
    if (shown.current !== lastSuccessAt) refetch();
    shown.current = lastSuccessAt;
  }, [lastSuccessAt, refetch]);
  if (query.failure) return <Refusal failure={query.failure} retry={query.refetch} />;
  const runs = (query.value?.items ?? []).map(runOf);
  const [last] = runs;
  return (
    <section>
      <h2>Recent runs with changes</h2>
      {last === undefined ? (
        <p class="muted">{query.isLoading ? ' ' : 'None yet. Runs without changes are not recorded.'}</p>
      ) : (
        <>
          <RunChart runs={runs} />
          <p class="legend muted">
            {[...RUN_CHANGES, 'duration'].map((kind) => (
              <span key={kind} class={`key ${kind}`}>
                {kind}
              </span>
            ))}
            <span>
              latest <Ago at={last.time} />: {summarizeRun(last)}
            </span>
          </p>
          <details class="below">
            <summary>Show as table</summary>
            <RunTable runs={runs} />
          </details>
        </>
      )}
    </section>
  );
}

const COLUMNS = [
  'When',
  ...['Added', 'Changed', 'Removed', 'Duration'].map((title) => ({ title, isNumber: true })),
];

function RunTable({ runs }: { runs: readonly Run[] }): JSX.Element {
  return (
    <Table columns={COLUMNS} isFigures>
      {runs.map((run) => (
        <tr key={run.id}>
          <th scope="row">
            <Ago at={run.time} />
          </th>
          {RUN_CHANGES.map((kind) => (
            <td key={kind} class="number">
              {run[kind].toLocaleString('en')}
            </td>
          ))}
          <td class="number">{run.durationMs === undefined ? '–' : formatDuration(run.durationMs)}</td>
        </tr>
      ))}
    </Table>
  );
}

function runOf({ id, time, change }: AuditEvent): Run {
  const after = (change?.after ?? {}) as Record<string, unknown>;
  const number = (key: string) => (typeof after[key] === 'number' ? after[key] : undefined);
  return {
    id,
    time,
    added: number('added') ?? 0,
    changed: number('changed') ?? 0,
    removed: number('removed') ?? 0,
    durationMs: number('durationMs'),
  };
}

const STEP = 14;
const WIDTH = 11;
/** Changes are drawn above the baseline, durations below it. */
const CHANGES_HEIGHT = 72;
const DURATION_HEIGHT = 28;
const GAP = 3;
const MIN_HEIGHT = 3;

/** One bar per run, newest on the right. */
function RunChart({ runs }: { runs: readonly Run[] }): JSX.Element {
  const [last] = runs;
  const mostChanges = Math.max(...runs.map(changesOf));
  const longest = Math.max(...runs.map(({ durationMs = 0 }) => durationMs));
  return (
    <svg
      class="bars"
      viewBox={`0 0 ${MAX_RUNS * STEP} ${CHANGES_HEIGHT + GAP + DURATION_HEIGHT}`}
      role="img"
      aria-label={`${pluralize(runs.length, 'run')}; the latest ${last ? summarizeRun(last) : ''}`}
    >
      {[...runs].reverse().map((run, index) => (
        <g key={run.id} transform={`translate(${index * STEP} 0)`}>
          <title>{`${exactTime(run.time)}: ${summarizeRun(run)}`}</title>
          <Changes run={run} height={scaled(changesOf(run), mostChanges, CHANGES_HEIGHT)} />
          <rect
            class="duration"
            y={CHANGES_HEIGHT + GAP}
            width={WIDTH}
            height={scaled(run.durationMs ?? 0, longest, DURATION_HEIGHT)}
          />
        </g>
      ))}
    </svg>
  );
}

function Changes({ run, height }: { run: Run; height: number }): JSX.Element {
  let top = CHANGES_HEIGHT - height;
  return (
    <>
      {RUN_CHANGES.map((kind) => {
        const part = (height * run[kind]) / Math.max(changesOf(run), 1);
        const y = top;
        top += part;
        return <rect key={kind} class={kind} y={y} width={WIDTH} height={part} />;
      })}
    </>
  );
}

function changesOf({ added, changed, removed }: Run): number {
  return added + changed + removed;
}

// Logarithmic, so that a large first run does not flatten the others.
function scaled(value: number, most: number, height: number): number {
  if (value <= 0 || most <= 0) return 0;
  return Math.max(MIN_HEIGHT, (Math.log1p(value) / Math.log1p(most)) * height);
}

/** `3 added, 1 removed, in 2 s` */
function summarizeRun(run: Run): string {
  const changes = RUN_CHANGES.filter((kind) => run[kind] > 0).map(
    (kind) => `${run[kind].toLocaleString('en')} ${kind}`,
  );
  return [...changes, ...(run.durationMs === undefined ? [] : [`in ${formatDuration(run.durationMs)}`])].join(
    ', ',
  );
}
