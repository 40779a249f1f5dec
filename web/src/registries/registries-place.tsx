import type { JSX } from 'preact';
import { DeclaredPages } from '../declared/declared-pages.js';
import type { Route } from '../navigation/route.js';
import { RegistriesPage } from './registries-page.js';
import { RegistryFormPage } from './registry-form-page.js';
import { RegistryPage } from './registry-page.js';

export function RegistriesPlace({ route }: { route: Route }): JSX.Element {
  return (
    <DeclaredPages route={route} of={{ List: RegistriesPage, Form: RegistryFormPage, One: RegistryPage }} />
  );
}
