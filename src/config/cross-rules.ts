import { elements, member } from '../json/members.js';
import type { Config } from './config.js';
import type { ConfigFile } from './config-file.dto.js';
import { insecureUrls } from './auth-settings.dto.js';
import { oauthInUse } from './oauth-in-use.js';
import { below, type Issue, issue } from '../validation/problems.js';
import type { Unchecked } from '../validation/shape.js';

/** What one part of the file must be to another. The file may still have members of wrong types: those are passed over. */
export function crossIssues(file: Unchecked<ConfigFile>, allowInsecureUrls: boolean): Issue[] {
  return [
    ...sameNames('sources', file.sources),
    ...sameNames('registries', file.registries),
    ...managedSources(file.sources),
    ...unknownSources(file),
    ...(allowInsecureUrls ? [] : insecureUrls(member(file.auth, 'oauth'))),
  ];
}

/** Places that one warning names; who has more of them has got the message. */
const MAX_PLACES = 20;

/**
 * A warning about role rules and claims that rest on what any of several providers may assert: each can put any claim into
 * its tokens, but for `iss`, which must be its own (contract §8). Only where claims are judged (contract §4).
 */
export function sharedClaims({
  auth,
  sources,
  registries,
}: Pick<Config, 'auth' | 'sources' | 'registries'>): string[] {
  const oauth = oauthInUse(auth);
  if (!oauth || !auth.authz || new Set(oauth.providers.map(({ issuerUrl }) => issuerUrl)).size < 2) return [];
  const rules = Object.entries(auth.authz.roles).flatMap(([role, maps]) =>
    maps.map((claims, position) => ({ claims, place: `auth.authz.roles.${role}[${position}]` })),
  );
  const labelled = Object.entries({ sources, registries }).flatMap(([section, items]) =>
    items.map(({ name, claims }, position) => ({
      claims,
      place: `${section}[${position}].claims (${name})`,
    })),
  );
  const places = [...rules, ...labelled]
    .filter(({ claims }) => Object.keys(claims).length > 0 && !Object.hasOwn(claims, 'iss'))
    .map(({ place }) => place);
  if (places.length === 0) return [];
  const more = places.length > MAX_PLACES ? ` and ${places.length - MAX_PLACES} more` : '';
  return [
    `auth.oauth.providers: each of ${oauth.providers.map(({ name }) => name).join(', ')} may put any claim into its tokens, ` +
      `and these do not say whose tokens they mean: ${places.slice(0, MAX_PLACES).join(', ')}${more}. ` +
      'Add iss, with the issuerUrl of the provider, unless you trust all of them with it',
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
