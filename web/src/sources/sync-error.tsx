import type { JSX } from 'preact';
import type { SourceSync } from '../api/types.js';
import { useAct } from '../ui/act.js';
import { Plain } from '../ui/plain.js';
import { Refusal } from '../ui/refusal.js';

interface Props {
  readonly sync: SourceSync;
  readonly startAnyway: () => Promise<void>;
}

/** Why the last run has failed and, where the source would lose most of its entries, a way to let it. */
export function SyncError({ sync: { error = '', attempts }, startAnyway }: Props): JSX.Element {
  const starting = useAct(startAnyway);
  return (
    <div class="refusal">
      <p class="refusal-sentence">
        <Plain text={error} class="break" />
      </p>
      <p class="refusal-source">
        {attempts > 1 ? `${attempts} runs in a row have failed; ` : ''}the earlier entries stay.
      </p>
      {/\bhas shrunk from\b/.test(error) && (
        <button type="button" onClick={starting.run} disabled={starting.isUnderWay}>
          Sync and let it lose most of its entries
        </button>
      )}
      {starting.failure && <Refusal failure={starting.failure} />}
    </div>
  );
}
