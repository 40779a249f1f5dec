import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { hashOf } from '../navigation/route.js';
import { UntrustedText } from '../ui/untrusted-text.js';

interface Props {
  readonly sources: readonly string[];
  /** Absent for a read-only list. */
  readonly change?: ((sources: string[]) => void) | undefined;
  readonly canRemove?: boolean;
  /** Whether each name links to the page of the source. */
  readonly hasLinks?: boolean;
}

/** Ordered sources, which the user moves by dragging, with buttons or with the arrow keys on a button. */
export function SourceOrder({ sources, change, canRemove = false, hasLinks = false }: Props): JSX.Element {
  const [dragged, setDragged] = useState<string | null>(null);
  const [announcement, setAnnouncement] = useState('');
  const list = useRef<HTMLOListElement>(null);
  const move = (name: string, to: number) => {
    if (!change || to < 0 || to >= sources.length) return;
    const others = sources.filter((each) => each !== name);
    change([...others.slice(0, to), name, ...others.slice(to)]);
    setAnnouncement(`${name} moved to position ${to + 1} of ${sources.length}`);
  };
  const moveBy = (name: string, by: 1 | -1) => {
    move(name, sources.indexOf(name) + by);
    // Restores focus, because the button has moved with its row.
    requestAnimationFrame(() =>
      list.current
        ?.querySelector<HTMLElement>(`[data-source="${CSS.escape(name)}"] [data-by="${by}"]`)
        ?.focus(),
    );
  };
  const press = (event: KeyboardEvent, name: string) => {
    if (event.key !== 'ArrowUp' && event.key !== 'ArrowDown') return;
    event.preventDefault();
    moveBy(name, event.key === 'ArrowUp' ? -1 : 1);
  };
  return (
    <>
      <ol class="order" ref={list}>
        {sources.map((name, index) => (
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
              if (dragged !== name) move(dragged, index);
            }}
            onDrop={(event) => event.preventDefault()}
          >
            <span class="muted number">{index + 1}</span>
            {hasLinks ? (
              <a href={hashOf(['sources', name])} draggable={false}>
                <UntrustedText text={name} class="break" />
              </a>
            ) : (
              <UntrustedText text={name} class="break" />
            )}
            {change && (
              <span class="order-moves">
                {MOVES.map(({ by, word, sign }) => (
                  <button
                    key={by}
                    type="button"
                    class="small"
                    data-by={by}
                    aria-label={`Move ${name} ${word}`}
                    // Avoids `disabled`, which would drop the keyboard focus at either end.
                    aria-disabled={sources[index + by] === undefined}
                    onClick={() => moveBy(name, by)}
                    onKeyDown={(event) => press(event, name)}
                  >
                    {sign}
                  </button>
                ))}
                {canRemove && (
                  <button
                    type="button"
                    class="small"
                    aria-label={`Remove ${name}`}
                    onClick={() => change(sources.filter((each) => each !== name))}
                  >
                    ✕
                  </button>
                )}
              </span>
            )}
          </li>
        ))}
      </ol>
      <p class="hidden" role="status">
        {announcement}
      </p>
    </>
  );
}

const MOVES = [
  { by: -1, word: 'up', sign: '↑' },
  { by: 1, word: 'down', sign: '↓' },
] as const;
