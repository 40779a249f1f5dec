import { elements, member } from '../json/json-values.js';
import { KINDS, MANAGED_KIND } from '../source-kinds/kinds.js';
import { membersWith, type Unchecked } from '../validation/class-validation.js';
import { isInsecure, parseHttpUrl } from '../validation/urls.js';
import { below, type Issue, issue } from '../validation/value-checks.js';
import type { ConfigFile } from './config-file.dto.js';
import { type Config, oauthInUse } from './config.js';
import { mayAssert } from './provider-claims.js';
import { webLogins } from './web-config.js';

/**
 * Checks rules that span sections of the configuration file. Skips members of the wrong type; other checks report them.
 */
export function crossIssues(file: Unchecked<ConfigFile>, allowInsecureUrls: boolean): Issue[] {
  return [
    ...managedSources(file.sources),
    ...unknownSources(file),
    ...webLogins(file),
    ...anonymousReview(file),
    ...(allowInsecureUrls ? [] : insecureUrls(file)),
  ];
}

/** reference/configuration: keys and responses fetched without TLS can be forged. */
function insecureUrls(file: Unchecked<ConfigFile>): Issue[] {
  return membersWith(['isSecureUrl'], file).flatMap(({ path, value }) => {
    const url = parseHttpUrl(value);
    return url && isInsecure(url)
      ? below(
          path,
          issue(
            'must be https:// (http:// is allowed on loopback, or for tests with REGISTRY_INSECURE_URLS=true)',
          ),
        )
      : [];
  });
}

function managedSources(sources: unknown): Issue[] {
  const managed = [...members(sources, MANAGED_KIND).entries()].filter(
    ([, settings]) => settings !== undefined,
  );
  return managed
    .slice(1)
    .flatMap(([position]) =>
      below(['sources', position, MANAGED_KIND], issue('is a second managed source: only one is possible')),
    );
}

function unknownSources(file: Unchecked<ConfigFile>): Issue[] {
  const known = new Set(members(file.sources, 'name'));
  return members(file.registries, 'sources').flatMap((names, registry) =>
    elements(names).flatMap((name, position) =>
      typeof name === 'string' && !known.has(name)
        ? below(
            ['registries', registry, 'sources', position],
            issue(`${JSON.stringify(name)} is not the name of a source in this file`),
          )
        : [],
    ),
  );
}

// Publishers and reviewers cannot be distinguished without identities (reference/admission).
function anonymousReview({ auth, sources }: Unchecked<ConfigFile>): Issue[] {
  if (member(auth, 'mode') !== 'anonymous') return [];
  return [...members(sources, MANAGED_KIND).entries()].flatMap(([position, settings]) =>
    member(settings, 'review') === undefined
      ? []
      : below(
          ['sources', position, MANAGED_KIND, 'review'],
          issue('needs auth.mode oauth: callers are not identified'),
        ),
  );
}

function members(items: unknown, key: string): unknown[] {
  return elements(items).map((item) => member(item, key));
}

/** Maximum paths listed in one warning. */
const MAX_PATHS = 20;

/**
 * Warns about role rules and claims that several providers can satisfy: without a mapping (reference/access), a provider can
 * put any claim into its tokens, except another provider's `iss` (§8). Warns only in modes that check claims (§4).
 */
export function sharedClaims({
  auth,
  sources,
  registries,
}: Pick<Config, 'auth' | 'sources' | 'registries'>): string[] {
  const oauth = oauthInUse(auth);
  if (!oauth || !auth.authz) return [];
  const rules = Object.entries(auth.authz.roles).flatMap(([role, maps]) =>
    maps.map((claims, position) => ({ claims, place: `auth.authz.roles.${role}[${position}]` })),
  );
  const labelled = Object.entries({ sources, registries }).flatMap(([section, items]) =>
    items.map(({ name, claims }, position) => ({
      claims,
      place: `${section}[${position}].claims (${name})`,
    })),
  );
  const unmapped = oauth.providers.filter(({ claims }) => claims === undefined);
  const places = [...rules, ...labelled]
    .filter(({ claims }) => Object.keys(claims).length > 0 && !Object.hasOwn(claims, 'iss'))
    // A mapping grants claims explicitly, but it never covers `sub`.
    .filter(({ claims }) => unmapped.length > 0 || Object.keys(claims).every((key) => key === 'sub'))
    .filter(({ claims }) => {
      const asserting = oauth.providers.filter((provider) => mayAssert(provider, claims));
      return new Set(asserting.map(({ issuerUrl }) => issuerUrl)).size > 1;
    })
    .map(({ place }) => place);
  if (places.length === 0) return [];
  const [named, what] = unmapped.length > 0 ? [unmapped, 'any claim'] : [oauth.providers, 'any sub'];
  return [
    `auth.oauth.providers: each of ${named.map(({ name }) => name).join(', ')} may put ${what} into its tokens, ` +
      `and these claims do not identify a provider: ${listed(places)}. ` +
      "Add iss with the provider's issuerUrl, or map the provider's claims, unless you trust all of these providers",
  ];
}

function listed(paths: readonly string[]): string {
  const more = paths.length > MAX_PATHS ? ` and ${paths.length - MAX_PATHS} more` : '';
  return `${paths.slice(0, MAX_PATHS).join(', ')}${more}`;
}

/** Warns about sources without claims, whose entries only super-admins see where claims are checked (reference/access). */
export function withoutClaims({ auth, sources }: Pick<Config, 'auth' | 'sources'>): string[] {
  if (!oauthInUse(auth) || !auth.authz) return [];
  const places = sources.flatMap(({ name, kind, claims }, position) =>
    KINDS[kind].inheritsClaims && Object.keys(claims).length === 0
      ? [`sources[${position}].claims (${name})`]
      : [],
  );
  return places.length === 0 ? [] : [`${listed(places)}: without claims, only super-admins see the entries`];
}

/** Warns about sections that have no effect (reference/configuration, reference/access). */
export function withoutEffect({ auth, sources }: Pick<Config, 'auth' | 'sources'>): string[] {
  const rules =
    auth.authz && !oauthInUse(auth)
      ? ['auth.authz: has no effect in anonymous mode, because callers are not identified']
      : [];
  const filters = sources.flatMap(({ name, kind, filter }, position) =>
    filter !== null && KINDS[kind].filledBy === 'publishing'
      ? [
          `sources[${position}].filter (${name}): has no effect: published entries are not filtered; ` +
            'managed.names restricts who may publish which names',
        ]
      : [],
  );
  return [...rules, ...filters];
}
