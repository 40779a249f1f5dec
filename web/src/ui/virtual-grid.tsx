import type { ComponentChildren, JSX, TargetedKeyboardEvent } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

interface Props<T> {
  readonly items: readonly T[];
  readonly rowHeight: number;
  readonly minWidth: number;
  readonly label: string;
  readonly keyOf: (item: T) => string;
  readonly children: (item: T) => ComponentChildren;
  /** Somebody comes near the end of what is there. */
  readonly nearEnd: () => void;
}

const GAP = 12;
/** Screens above and below the visible one that are kept ready. */
const AHEAD = 1;

/** A grid of which only what is near the window stands in the document: a hundred thousand items scroll like ten. */
export function VirtualGrid<T>({
  items,
  rowHeight,
  minWidth,
  label,
  keyOf,
  children,
  nearEnd,
}: Props<T>): JSX.Element {
  const list = useRef<HTMLUListElement>(null);
  const [columns, setColumns] = useState(1);
  const [window_, setWindow] = useState({ first: 0, last: 20 });
  const step = rowHeight + GAP;
  const rows = Math.ceil(items.length / columns);

  useLayoutEffect(() => {
    const element = list.current;
    if (!element) return undefined;
    const measure = () => {
      const { top, width } = element.getBoundingClientRect();
      setColumns(Math.max(1, Math.floor((width + GAP) / (minWidth + GAP))));
      const screen = window.innerHeight;
      const first = Math.max(0, Math.floor((-top - AHEAD * screen) / step));
      const last = Math.ceil((-top + (1 + AHEAD) * screen) / step);
      setWindow((before) => (before.first === first && before.last === last ? before : { first, last }));
    };
    let frame = 0;
    const soon = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(measure);
    };
    measure();
    const observer = new ResizeObserver(soon);
    observer.observe(element);
    // Comes once a frame, before it is drawn: with what is asked for here, nothing empty is shown, however far somebody has jumped.
    window.addEventListener('scroll', measure, { passive: true });
    window.addEventListener('resize', soon);
    return () => {
      cancelAnimationFrame(frame);
      observer.disconnect();
      window.removeEventListener('scroll', measure);
      window.removeEventListener('resize', soon);
    };
  }, [step, minWidth]);

  useEffect(() => {
    if (window_.last >= rows - 2) nearEnd();
  }, [window_.last, rows, nearEnd]);

  const first = window_.first * columns;
  const shown = items.slice(first, Math.min(items.length, (window_.last + 1) * columns));
  return (
    <ul
      ref={list}
      class="virtual"
      aria-label={label}
      style={{ height: `${Math.max(0, rows * step - GAP)}px` }}
      onKeyDown={(event) => moveFocus(event, columns)}
    >
      {shown.map((item, position) => {
        const place = first + position;
        return (
          <li
            key={keyOf(item)}
            aria-posinset={place + 1}
            aria-setsize={-1}
            style={{
              height: `${rowHeight}px`,
              width: `calc((100% - ${(columns - 1) * GAP}px) / ${columns})`,
              transform: `translate(calc(${place % columns} * (100% + ${GAP}px)), ${Math.floor(place / columns) * step}px)`,
            }}
          >
            {children(item)}
          </li>
        );
      })}
    </ul>
  );
}

// The arrows go from card to card, as the eye does.
function moveFocus(event: TargetedKeyboardEvent<HTMLUListElement>, columns: number): void {
  const steps: Readonly<Record<string, number>> = {
    ArrowRight: 1,
    ArrowLeft: -1,
    ArrowDown: columns,
    ArrowUp: -columns,
  };
  const by = steps[event.key];
  if (by === undefined) return;
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>('li > a')];
  const at = links.indexOf(document.activeElement as HTMLElement);
  const next = links[at + by];
  if (at < 0 || !next) return;
  event.preventDefault();
  next.focus();
  next.scrollIntoView({ block: 'nearest' });
}
