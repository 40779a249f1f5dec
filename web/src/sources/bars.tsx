import type { JSX } from 'preact';
import { counted } from '../ui/counted.js';
import { exactly } from '../ui/time.js';
import { MOST_RUNS, type Run, RUN_CHANGES, wordsOf } from './run.js';

const STEP = 14;
const WIDTH = 11;
/** What was changed stands above the line, how long it took below it. */
const CHANGES_HEIGHT = 72;
const DURATION_HEIGHT = 28;
const GAP = 3;
const LEAST_HEIGHT = 3;

/** A bar for each run, the newest at the right. */
export function Bars({ runs }: { runs: readonly Run[] }): JSX.Element {
  const [last] = runs;
  const mostChanges = Math.max(...runs.map(changesOf));
  const longest = Math.max(...runs.map(({ durationMs = 0 }) => durationMs));
  return (
    <svg
      class="bars"
      viewBox={`0 0 ${MOST_RUNS * STEP} ${CHANGES_HEIGHT + GAP + DURATION_HEIGHT}`}
      role="img"
      aria-label={`${counted(runs.length, 'run')}; the last ${last ? wordsOf(last) : ''}`}
    >
      {[...runs].reverse().map((run, place) => (
        <g key={run.id} transform={`translate(${place * STEP} 0)`}>
          <title>{`${exactly(run.time)}: ${wordsOf(run)}`}</title>
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

// By the logarithm, so that the first run does not press all others flat.
function scaled(value: number, most: number, height: number): number {
  if (value <= 0 || most <= 0) return 0;
  return Math.max(LEAST_HEIGHT, (Math.log1p(value) / Math.log1p(most)) * height);
}
