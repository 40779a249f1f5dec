import type { JSX } from 'preact';
import { answer, api } from '../api/client.js';
import type { AuditEvent } from '../api/types.js';
import { useAnswer } from '../api/use-answer.js';
import { Refusal } from '../ui/refusal.js';
import { Ago, exactly } from '../ui/time.js';

interface Run {
  readonly time: string;
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
}

const MOST = 30;
const HEIGHT = 72;
const KINDS = ['added', 'changed', 'removed'] as const;

/** The last runs that changed something, as the audit trail has them: a bar for each, newest at the right. */
export function Runs({ name }: { name: string }): JSX.Element {
  const asked = useAnswer(name, (signal) =>
    answer(
      api.GET('/v1/audit', { params: { query: { action: 'sync.run', target: name, limit: MOST } }, signal }),
    ),
  );
  if (asked.failure) return <Refusal failure={asked.failure} again={asked.again} />;
  const runs = (asked.value?.events ?? []).map(runOf).reverse();
  const last = runs.at(-1);
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
            {KINDS.map((kind) => (
              <span key={kind} class={`key ${kind}`}>
                {kind}
              </span>
            ))}
            <span>
              last <Ago at={last.time} />: {wordsOf(last)}
            </span>
          </p>
        </>
      )}
    </section>
  );
}

function Bars({ runs }: { runs: readonly Run[] }): JSX.Element {
  const most = Math.max(...runs.map(({ added, changed, removed }) => added + changed + removed), 1);
  // By the square root, so that the first run does not press all others flat.
  const scaled = (count: number) =>
    count === 0 ? 0 : Math.max(3, (Math.sqrt(count) / Math.sqrt(most)) * HEIGHT);
  return (
    <svg
      class="bars"
      viewBox={`0 0 ${MOST * 14} ${HEIGHT}`}
      role="img"
      aria-label={`${runs.length} runs; the last ${wordsOf(runs.at(-1))}`}
    >
      {runs.map((run, place) => {
        const total = run.added + run.changed + run.removed;
        const height = scaled(total);
        let top = HEIGHT - height;
        return (
          <g key={run.time}>
            <title>{`${exactly(run.time)}: ${wordsOf(run)}`}</title>
            {KINDS.map((kind) => {
              const part = total === 0 ? 0 : (height * run[kind]) / total;
              const y = top;
              top += part;
              return <rect key={kind} class={kind} x={place * 14} y={y} width="11" height={part} />;
            })}
          </g>
        );
      })}
    </svg>
  );
}

function runOf({ time, change }: AuditEvent): Run {
  const after = (change?.after ?? {}) as Record<string, unknown>;
  const count = (key: string) => (typeof after[key] === 'number' ? after[key] : 0);
  return { time, added: count('added'), changed: count('changed'), removed: count('removed') };
}

function wordsOf(run: Run | undefined): string {
  if (!run) return 'nothing';
  return KINDS.filter((kind) => run[kind] > 0)
    .map((kind) => `${run[kind].toLocaleString('en')} ${kind}`)
    .join(', ');
}
