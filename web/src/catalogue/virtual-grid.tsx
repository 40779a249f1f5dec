import type { ComponentChildren, JSX, TargetedKeyboardEvent } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

interface Props<T> {
  readonly items: readonly T[];
  readonly rowHeight: number;
  readonly minWidth: number;
  readonly label: string;
  readonly keyOf: (item: T) => string;
  readonly children: (item: T) => ComponentChildren;
  /** Called when the user scrolls close to the last item. */
  readonly onNearEnd: () => void;
}

const GAP = 12;
/** The number of screens rendered above and below the visible one. */
const AHEAD = 1;

/** A grid that renders only the rows near the viewport, so 100,000 items scroll smoothly. */
export function VirtualGrid<T>({
  items,
  rowHeight,
  minWidth,
  label,
  keyOf,
  children,
  onNearEnd,
}: Props<T>): JSX.Element {
  const list = useRef<HTMLUListElement>(null);
  const [columns, setColumns] = useState(1);
  const [range, setRange] = useState({ first: 0, last: 20 });
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
      setRange((before) => (before.first === first && before.last === last ? before : { first, last }));
    };
    let frame = 0;
    const measureSoon = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(measure);
    };
    measure();
    const observer = new ResizeObserver(measureSoon);
    observer.observe(element);
    // Scroll events fire before each frame is painted, so measuring here leaves no blank rows after a jump.
    window.addEventListener('scroll', measure, { passive: true });
    window.addEventListener('resize', measureSoon);
    return () => {
      cancelAnimationFrame(frame);
      observer.disconnect();
      window.removeEventListener('scroll', measure);
      window.removeEventListener('resize', measureSoon);
    };
  }, [step, minWidth]);

  useEffect(() => {
    if (range.last >= rows - 2) onNearEnd();
  }, [range.last, rows, onNearEnd]);

  const first = range.first * columns;
  const shown = items.slice(first, Math.min(items.length, (range.last + 1) * columns));
  return (
    <ul
      ref={list}
      class="virtual"
      aria-label={label}
      style={{ height: `${Math.max(0, rows * step - GAP)}px` }}
      onKeyDown={(event) => moveFocus(event, columns)}
    >
      {shown.map((item, position) => {
        const index = first + position;
        return (
          <li
            key={keyOf(item)}
            aria-posinset={index + 1}
            aria-setsize={-1}
            style={{
              height: `${rowHeight}px`,
              width: `calc((100% - ${(columns - 1) * GAP}px) / ${columns})`,
              transform: `translate(calc(${index % columns} * (100% + ${GAP}px)), ${Math.floor(index / columns) * step}px)`,
            }}
          >
            {children(item)}
          </li>
        );
      })}
    </ul>
  );
}

// Arrow keys move between cards in two dimensions.
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
