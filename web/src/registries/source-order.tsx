import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { Plain } from '../ui/plain.js';

interface Props {
  readonly sources: readonly string[];
  /** Absent: they are only shown. */
  readonly change?: ((sources: string[]) => void) | undefined;
}

/** Sources in their order, moved by dragging, or by the arrow keys on a handle. */
export function SourceOrder({ sources, change }: Props): JSX.Element {
  const [dragged, setDragged] = useState<string | null>(null);
  const [said, setSaid] = useState('');
  const list = useRef<HTMLOListElement>(null);
  const move = (name: string, to: number) => {
    if (!change || to < 0 || to >= sources.length) return;
    const others = sources.filter((each) => each !== name);
    change([...others.slice(0, to), name, ...others.slice(to)]);
    setSaid(`${name} is now ${to + 1} of ${sources.length}`);
  };
  const press = (event: KeyboardEvent, name: string, place: number) => {
    if (event.key !== 'ArrowUp' && event.key !== 'ArrowDown') return;
    event.preventDefault();
    move(name, place + (event.key === 'ArrowUp' ? -1 : 1));
    // The handle has moved with its row: the focus stays on it.
    requestAnimationFrame(() =>
      list.current?.querySelector<HTMLElement>(`[data-source="${CSS.escape(name)}"] button`)?.focus(),
    );
  };
  return (
    <>
      <ol class="order" ref={list}>
        {sources.map((name, place) => (
          <li
            key={name}
            data-source={name}
            draggable={change !== undefined}
            class={dragged === name ? 'dragged' : undefined}
            onDragStart={(event) => {
              setDragged(name);
              event.dataTransfer?.setData('text/plain', name);
            }}
            onDragEnd={() => setDragged(null)}
            onDragOver={(event) => {
              if (dragged === null) return;
              event.preventDefault();
              if (dragged !== name) move(dragged, place);
            }}
            onDrop={(event) => event.preventDefault()}
          >
            {change && (
              <button
                type="button"
                class="handle"
                aria-label={`Move ${name}: arrow up, arrow down`}
                onKeyDown={(event) => press(event, name, place)}
              >
                ⠿
              </button>
            )}
            <span class="muted number">{place + 1}</span>
            <Plain text={name} class="break" />
          </li>
        ))}
      </ol>
      <p class="hidden" role="status">
        {said}
      </p>
    </>
  );
}
