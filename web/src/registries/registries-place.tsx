import type { JSX } from 'preact';
import type { Route } from '../navigation/route.js';
import { RegistriesPage } from './registries-page.js';
import { RegistryFormPage } from './registry-form-page.js';
import { RegistryPage } from './registry-page.js';

/** `#/registries`, `#/registries/{name}`, `#/registries/{name}/edit`; no registry is called `+new`. */
export function RegistriesPlace({ route }: { route: Route }): JSX.Element {
  const [, name, what] = route.path;
  if (name === undefined) return <RegistriesPage />;
  if (name === '+new') return <RegistryFormPage key="new" name={null} />;
  if (what === 'edit') return <RegistryFormPage key={name} name={name} />;
  return <RegistryPage key={name} name={name} />;
}
