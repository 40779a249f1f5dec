import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { answer, api } from '../api/client.js';
import type { AuditEvent } from '../api/types.js';
import { useAnswer } from '../api/use-answer.js';
import { Refusal } from '../ui/refusal.js';
import { Table } from '../ui/table.js';
import { Ago, durationText } from '../ui/time.js';
import { Bars } from './bars.js';
import { MOST_RUNS, type Run, RUN_CHANGES, wordsOf } from './run.js';

interface Props {
  readonly name: string;
  /** When a run has last succeeded: with another one, there is more to show. */
  readonly after: string | null;
}

/** The last runs that changed something, as the audit trail has them. */
export function Runs({ name, after }: Props): JSX.Element {
  const asked = useAnswer(name, (signal) =>
    answer(
      api.GET('/v1/audit', {
        params: { query: { action: 'sync.run', target: name, limit: MOST_RUNS } },
        signal,
      }),
    ),
  );
  const { again } = asked;
  const shown = useRef(after);
  useEffect(() => {
    if (shown.current !== after) again();
    shown.current = after;
  }, [after, again]);
  if (asked.failure) return <Refusal failure={asked.failure} again={asked.again} />;
  const runs = (asked.value?.events ?? []).map(runOf);
  const [last] = runs;
  return (
    <section>
      <h2>Last runs that changed something</h2>
      {last === undefined ? (
        <p class="muted">
          {asked.isWaiting ? ' ' : 'None yet: runs that find everything as it was leave no trace.'}
        </p>
      ) : (
        <>
          <Bars runs={runs} />
          <p class="legend muted">
            {[...RUN_CHANGES, 'duration'].map((kind) => (
              <span key={kind} class={`key ${kind}`}>
                {kind}
              </span>
            ))}
            <span>
              last <Ago at={last.time} />: {wordsOf(last)}
            </span>
          </p>
          <details class="below">
            <summary>The same as a table</summary>
            <RunTable runs={runs} />
          </details>
        </>
      )}
    </section>
  );
}

const COLUMNS = [
  'When',
  ...['Added', 'Changed', 'Removed', 'Took'].map((title) => ({ title, isNumber: true })),
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
          <td class="number">{run.durationMs === undefined ? '–' : durationText(run.durationMs)}</td>
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
