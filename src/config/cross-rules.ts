import { elements, member } from '../json/members.js';
import type { ConfigFile } from './config-file.dto.js';
import { OAuthSettings, type ProviderSettings } from './auth-settings.dto.js';
import type { Path } from '../validation/path.js';
import { below, type Issue, issue } from '../validation/problems.js';
import type { Unchecked } from '../validation/shape.js';
import { isInsecure, parseHttpUrl } from '../validation/urls.js';

/** What one part of the file must be to another. The file may still have members of wrong types: those are passed over. */
export function crossIssues(file: Unchecked<ConfigFile>, allowInsecureUrls: boolean): Issue[] {
  return [
    ...sameNames('sources', file.sources),
    ...sameNames('registries', file.registries),
    ...managedSources(file.sources),
    ...unknownSources(file),
    ...(allowInsecureUrls ? [] : insecureUrls(file)),
  ];
}

function sameNames(section: string, items: unknown): Issue[] {
  const names = members(items, 'name');
  return names.flatMap((name, position) =>
    typeof name === 'string' && names.indexOf(name) < position
      ? below([section, position, 'name'], issue('stands in the list already: names are unique'))
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
            issue('is not the name of a source in this file'),
          )
        : [],
    ),
  );
}

// contract §2: a key or an answer fetched in clear can be forged on the way.
function insecureUrls(file: Unchecked<ConfigFile>): Issue[] {
  const oauth = member(file.auth, 'oauth');
  if (!(oauth instanceof OAuthSettings)) return [];
  return (['issuerUrl', 'jwksUrl', 'introspectionUrl'] satisfies (keyof ProviderSettings)[]).flatMap((key) =>
    members(oauth.providers, key).flatMap((value, position) => {
      const url = parseHttpUrl(value);
      const path: Path = ['auth', 'oauth', 'providers', position, key];
      return url && isInsecure(url)
        ? below(
            path,
            issue(
              'must be https:// (http:// is for loopback only, or for tests with REGISTRY_INSECURE_URLS=true)',
            ),
          )
        : [];
    }),
  );
}

function members(items: unknown, key: string): unknown[] {
  return elements(items).map((item) => member(item, key));
}
