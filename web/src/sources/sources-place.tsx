import type { JSX } from 'preact';
import type { Route } from '../navigation/route.js';
import { SourceFormPage } from './source-form-page.js';
import { SourcePage } from './source-page.js';
import { SourcesPage } from './sources-page.js';

/** `#/sources`, `#/sources/{name}`, `#/sources/{name}/edit`; no source is called `+new`. */
export function SourcesPlace({ route }: { route: Route }): JSX.Element {
  const [, name, what] = route.path;
  if (name === undefined) return <SourcesPage />;
  if (name === '+new') return <SourceFormPage key="new" name={null} />;
  if (what === 'edit') return <SourceFormPage key={name} name={name} />;
  return <SourcePage key={name} name={name} />;
}
