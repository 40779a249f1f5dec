import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type Failure, failureFrom } from '../api/failure.js';
import { Dialog } from './dialog.js';
import { Refusal } from './refusal.js';

/** Something that is done, whether it is under way, and why it failed. */
export interface Act {
  readonly isUnderWay: boolean;
  readonly failure: Failure | undefined;
  run(): void;
  forget(): void;
}

export function useAct(act: () => Promise<void>): Act {
  const [isUnderWay, setUnderWay] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  const run = () => {
    if (isUnderWay) return;
    setUnderWay(true);
    setFailure(undefined);
    act()
      .catch((thrown: unknown) => setFailure(failureFrom(thrown)))
      .finally(() => setUnderWay(false));
  };
  return { isUnderWay, failure, run, forget: () => setFailure(undefined) };
}

interface Props {
  readonly label: string;
  readonly question: string;
  readonly children: ComponentChildren;
  act(): Promise<void>;
}

/** What can't be taken back is asked about first. */
export function DangerButton({ label, question, children, act }: Props): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const done = useAct(async () => {
    await act();
    setOpen(false);
  });
  return (
    <>
      <button type="button" class="danger" onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen && (
        <Dialog title={question} close={() => (setOpen(false), done.forget())}>
          <div>{children}</div>
          {done.failure && <Refusal failure={done.failure} />}
          <p class="buttons">
            <button type="button" class="danger primary" disabled={done.isUnderWay} onClick={done.run}>
              {label}
            </button>
            <button type="button" onClick={() => (setOpen(false), done.forget())}>
              Cancel
            </button>
          </p>
        </Dialog>
      )}
    </>
  );
}
