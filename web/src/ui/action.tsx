import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Failure, failureFrom } from '../api/client.js';
import { Refusal } from './refusal.js';
import { escapeInvisible } from './untrusted-text.js';

/** A change that the user starts, with its progress and failure. */
export interface Action {
  readonly isPending: boolean;
  readonly failure: Failure | undefined;
  run(): void;
  reset(): void;
}

export function useAction(act: () => Promise<void>): Action {
  const [isPending, setPending] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  const run = () => {
    if (isPending) return;
    setPending(true);
    setFailure(undefined);
    act()
      .catch((thrown: unknown) => setFailure(failureFrom(thrown)))
      .finally(() => setPending(false));
  };
  return { isPending, failure, run, reset: () => setFailure(undefined) };
}

interface ConfirmProps {
  readonly label: string;
  readonly question: string;
  readonly children: ComponentChildren;
  act(): Promise<void>;
}

/** A button that asks for confirmation before an irreversible change. */
export function DangerButton(props: ConfirmProps): JSX.Element {
  return <ConfirmButton {...props} class="danger" />;
}

/** A button that asks for confirmation. */
export function ConfirmButton({
  label,
  question,
  children,
  act,
  class: name = '',
}: ConfirmProps & { class?: string }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const done = useAction(async () => {
    await act();
    setOpen(false);
  });
  return (
    <>
      <button type="button" class={name} onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen && (
        <Dialog title={question} close={() => (setOpen(false), done.reset())}>
          <div>{children}</div>
          {done.failure && <Refusal failure={done.failure} />}
          <p class="buttons">
            <button type="button" class={`${name} primary`} disabled={done.isPending} onClick={done.run}>
              {label}
            </button>
            <button type="button" data-focus onClick={() => (setOpen(false), done.reset())}>
              Cancel
            </button>
          </p>
        </Dialog>
      )}
    </>
  );
}

interface DialogProps {
  readonly title: string;
  readonly close: () => void;
  readonly children: ComponentChildren;
}

/** The native modal dialog traps focus and closes on Escape. */
function Dialog({ title, close, children }: DialogProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
    // The first button, which confirms, would otherwise have the focus. A stray Enter must not confirm.
    dialog.current?.querySelector<HTMLElement>('[data-focus]')?.focus();
  }, []);
  return (
    <dialog ref={dialog} aria-label={escapeInvisible(title)} onClose={close}>
      <h2>{escapeInvisible(title)}</h2>
      {children}
    </dialog>
  );
}
