import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { visible } from './visible.js';

interface Props {
  readonly title: string;
  readonly close: () => void;
  readonly children: ComponentChildren;
}

/** The browser's own modal dialog: it keeps the focus and closes with Escape. */
export function Dialog({ title, close, children }: Props): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} aria-label={visible(title)} onClose={close}>
      <h2>{visible(title)}</h2>
      {children}
    </dialog>
  );
}
