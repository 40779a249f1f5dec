import type { JSX } from 'preact';
import type { Route } from '../navigation/route.js';
import { NEW } from './declared-things.js';

interface Pages {
  readonly List: () => JSX.Element;
  readonly Form: (props: { name: string | null }) => JSX.Element;
  readonly One: (props: { name: string }) => JSX.Element;
}

/** `#/sources`, `#/sources/{name}`, `#/sources/{name}/edit`, `#/sources/+new`; registries likewise. */
export function DeclaredPages({ route, of }: { route: Route; of: Pages }): JSX.Element {
  const [, name, what] = route.path;
  if (name === undefined) return <of.List />;
  if (name === NEW) return <of.Form key={NEW} name={null} />;
  if (what === 'edit') return <of.Form key={name} name={name} />;
  return <of.One key={name} name={name} />;
}
