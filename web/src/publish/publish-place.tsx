import type { JSX } from 'preact';
import type { EntryType } from '../api/types.js';
import type { Route } from '../navigation/route.js';
import { ManagedEntryPage } from './managed-entry-page.js';
import { PublishPage } from './publish-page.js';

/** `#/publish`, `#/publish/{type}/{name}` */
export function PublishPlace({ route }: { route: Route }): JSX.Element {
  const [, type, name] = route.path;
  if (type === undefined || name === undefined) return <PublishPage />;
  return <ManagedEntryPage key={`${type} ${name}`} type={type as EntryType} name={name} />;
}
