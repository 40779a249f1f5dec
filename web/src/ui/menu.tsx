import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** What opens below a label, and closes when somebody goes on elsewhere or presses Escape. */
export function Menu({
  label,
  children,
}: {
  label: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const press = ({ key }: KeyboardEvent) => {
      if (key !== 'Escape' || !menu.current?.open) return;
      menu.current.open = false;
      menu.current.querySelector('summary')?.focus();
    };
    const goOn = ({ target }: Event) => {
      if (menu.current && !(target instanceof Node && menu.current.contains(target)))
        menu.current.open = false;
    };
    document.addEventListener('keydown', press);
    for (const event of ['pointerdown', 'focusin'] as const) document.addEventListener(event, goOn);
    return () => {
      document.removeEventListener('keydown', press);
      for (const event of ['pointerdown', 'focusin'] as const) document.removeEventListener(event, goOn);
    };
  }, []);
  return (
    <details class="menu" ref={menu}>
      <summary>{label}</summary>
      <div class="menu-body">{children}</div>
    </details>
  );
}
