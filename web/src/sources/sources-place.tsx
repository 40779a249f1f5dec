import type { JSX } from 'preact';
import { DeclaredPages } from '../declared/declared-pages.js';
import type { Route } from '../navigation/route.js';
import { SourceFormPage } from './source-form-page.js';
import { SourcePage } from './source-page.js';
import { SourcesPage } from './sources-page.js';

export function SourcesPlace({ route }: { route: Route }): JSX.Element {
  return <DeclaredPages route={route} of={{ List: SourcesPage, Form: SourceFormPage, One: SourcePage }} />;
}
