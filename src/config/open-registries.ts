import { covers } from '../claims/claims.js';
import { KINDS } from '../source-kinds/kinds.js';
import { type Config, oauthInUse, type RegistryConfig } from './config.js';
import { isExpired } from './registry-keys.js';

type Declared = Pick<Config, 'auth' | 'sources' | 'registries' | 'rootRegistry'>;

/** What opens to callers without a token, a sentence each (contract §6.1): for whoever checks a configuration. */
export function openRegistries({ auth, registries }: Pick<Config, 'auth' | 'registries'>): string[] {
  if (!oauthInUse(auth)) return [];
  return registries.flatMap(({ name, anonymousClaims, keys }) => [
    ...(anonymousClaims
      ? [`registry ${name} opens without a token, to the claims ${JSON.stringify(anonymousClaims)}`]
      : []),
    ...keys.map(
      (key) =>
        `registry ${name} opens with the key ${key.name}, to the claims ${JSON.stringify(key.claims)}` +
        (key.expires === null ? '' : `, until ${key.expires}`),
    ),
  ]);
}

/** Warnings about registries that open without a token wider, or less, than was probably meant. */
export function openRegistryWarnings(config: Declared, nowMs: number): string[] {
  const { auth, registries, rootRegistry } = config;
  const isAsked = oauthInUse(auth) !== undefined;
  const unknownRoot =
    rootRegistry !== null && !registries.some(({ name }) => name === rootRegistry)
      ? [
          `rootRegistry: no registry of this file is called ${rootRegistry}: until one is made through the API, the root answers as for any registry that does not exist`,
        ]
      : [];
  return [
    ...unknownRoot,
    ...registries.flatMap((registry, position) => {
      const path = `registries[${position}]`;
      const { name, anonymousClaims, keys } = registry;
      if (!isAsked)
        return anonymousClaims === null && keys.length === 0
          ? []
          : [
              `${path} (${name}): anonymous and keys have no effect in mode anonymous, where nobody is asked for a token`,
            ];
      const held = [
        ...(anonymousClaims ? [{ path: `${path}.anonymous (${name})`, claims: anonymousClaims }] : []),
        ...keys.map((key, place) => ({
          path: `${path}.keys[${place}] (${name}, ${key.name})`,
          claims: key.claims,
        })),
      ];
      return [
        ...held.flatMap(({ path: where, claims }) => reachWarning(config, registry, where, claims)),
        ...keys.flatMap((key, place) =>
          isExpired(key, nowMs)
            ? [`${path}.keys[${place}] (${name}, ${key.name}): has expired, and is refused`]
            : [],
        ),
      ];
    }),
  ];
}

function reachWarning(
  { auth, sources }: Declared,
  { claims: gate, sources: held }: RegistryConfig,
  where: string,
  claims: RegistryConfig['claims'],
): string[] {
  if (!auth.authz)
    return [
      `${where}: opens everything that is in the registry, as without auth.authz claims keep nothing back`,
    ];
  const { arrayValues, unlabeled } = auth.authz.policy;
  const isLetIn = Object.keys(gate).length === 0 ? unlabeled === 'allow' : covers(claims, gate, arrayValues);
  if (!isLetIn)
    return [
      `${where}: its claims do not satisfy those of the registry, so each of its requests is refused with 403`,
    ];
  const own = sources.filter(({ name }) => held.includes(name));
  const seesAll = own.every(
    (source) =>
      KINDS[source.kind].inheritsClaims &&
      Object.keys(source.claims).length > 0 &&
      covers(claims, source.claims, arrayValues),
  );
  return own.length > 0 && seesAll ? [`${where}: opens everything that is in the registry`] : [];
}

/** Warnings about `publishClaims` of registries that nothing can be published through (contract §6.2). */
export function publishWarnings({ sources, registries }: Pick<Config, 'sources' | 'registries'>): string[] {
  const managed = sources.filter(({ kind }) => KINDS[kind].filledBy === 'publishing').map(({ name }) => name);
  return registries.flatMap(({ name, sources: held, publishClaims }, position) =>
    publishClaims === null || held.some((source) => managed.includes(source))
      ? []
      : [
          `registries[${position}].publishClaims (${name}): has no effect: none of its sources is a managed one, which publishing would fill`,
        ],
  );
}
