import { elements, member } from '../../json/json-values.js';
import type { Unchecked } from '../../validation/class-checks.js';
import { below, type Issue, issue } from '../../validation/problems.js';
import { insecureUrls } from '../auth-settings.dto.js';
import type { ConfigFile } from '../config-file.dto.js';
import { webLogins } from '../web/web-config.js';

/** What one part of the file must be to another. The file may still have members of wrong types: those are passed over. */
export function crossIssues(file: Unchecked<ConfigFile>, allowInsecureUrls: boolean): Issue[] {
  return [
    ...sameNames('sources', file.sources),
    ...sameNames('registries', file.registries),
    ...managedSources(file.sources),
    ...unknownSources(file),
    ...webLogins(file),
    ...(allowInsecureUrls ? [] : insecureUrls(member(file.auth, 'oauth'))),
  ];
}

function sameNames(section: string, items: unknown): Issue[] {
  const names = members(items, 'name');
  return names.flatMap((name, position) =>
    typeof name === 'string' && names.indexOf(name) < position
      ? below(
          [section, position, 'name'],
          issue(`${JSON.stringify(name)} stands in the list already: names are unique`),
        )
      : [],
  );
}

function managedSources(sources: unknown): Issue[] {
  const managed = [...members(sources, 'managed').entries()].filter(([, settings]) => settings !== undefined);
  return managed
    .slice(1)
    .flatMap(([position]) =>
      below(['sources', position, 'managed'], issue('is the second managed source: at most one is possible')),
    );
}

function unknownSources(file: Unchecked<ConfigFile>): Issue[] {
  const known = members(file.sources, 'name');
  return members(file.registries, 'sources').flatMap((names, registry) =>
    elements(names).flatMap((name, position) =>
      typeof name === 'string' && !known.includes(name)
        ? below(
            ['registries', registry, 'sources', position],
            issue(`${JSON.stringify(name)} is not the name of a source in this file`),
          )
        : [],
    ),
  );
}

function members(items: unknown, key: string): unknown[] {
  return elements(items).map((item) => member(item, key));
}
