import { covers } from '../claims/claims.js';
import { KINDS } from '../source-kinds/kinds.js';
import { type Config, oauthInUse, type RegistryConfig } from './config.js';
import { isExpired } from './registry-keys.js';

type Declared = Pick<Config, 'auth' | 'sources' | 'registries' | 'rootRegistry'>;

/** Describes the registries that callers can read without a token (reference/access), for the `check` command. */
export function openRegistries({ auth, registries }: Pick<Config, 'auth' | 'registries'>): string[] {
  if (!oauthInUse(auth)) return [];
  return registries.flatMap(({ name, anonymousClaims, keys }) => [
    ...(anonymousClaims
      ? [`registry ${name} is readable without a token, with the claims ${JSON.stringify(anonymousClaims)}`]
      : []),
    ...keys.map(
      (key) =>
        `registry ${name} is readable with the key ${key.name}, with the claims ${JSON.stringify(key.claims)}` +
        (key.expires === null ? '' : `, until ${key.expires}`),
    ),
  ]);
}

/** Warns about registries whose access without a token is probably wider or narrower than intended. */
export function openRegistryWarnings(config: Declared, nowMs: number): string[] {
  const { auth, registries, rootRegistry } = config;
  const requiresToken = oauthInUse(auth) !== undefined;
  const unknownRoot =
    rootRegistry !== null && !registries.some(({ name }) => name === rootRegistry)
      ? [
          `rootRegistry: no registry in this file is called ${rootRegistry}: until it is created through the API, the root returns 404`,
        ]
      : [];
  return [
    ...unknownRoot,
    ...registries.flatMap((registry, position) => {
      const path = `registries[${position}]`;
      const { name, anonymousClaims, keys } = registry;
      if (!requiresToken)
        return anonymousClaims === null && keys.length === 0
          ? []
          : [
              `${path} (${name}): anonymous and keys have no effect in anonymous mode, which requires no token`,
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
            ? [`${path}.keys[${place}] (${name}, ${key.name}): has expired and is refused`]
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
    return [`${where}: opens the whole registry, because claims restrict nothing without auth.authz`];
  const { arrayValues, unlabeled } = auth.authz.policy;
  const passesGate =
    Object.keys(gate).length === 0 ? unlabeled === 'allow' : covers(claims, gate, arrayValues);
  if (!passesGate)
    return [
      `${where}: its claims do not satisfy the claims of the registry, so every request is refused with 403`,
    ];
  const names = new Set(held);
  const own = sources.filter(({ name }) => names.has(name));
  const seesAll = own.every(
    (source) =>
      KINDS[source.kind].inheritsClaims &&
      Object.keys(source.claims).length > 0 &&
      covers(claims, source.claims, arrayValues),
  );
  return own.length > 0 && seesAll ? [`${where}: opens the whole registry`] : [];
}

/** Warns about marketplaces with the same name, of which a client can register only one (reference/marketplace). */
export function marketplaceWarnings({ registries }: Pick<Config, 'registries'>): string[] {
  return registries.flatMap(({ name, marketplace }, position) => {
    const other = registries.slice(0, position).find((each) => each.marketplace?.name === marketplace?.name);
    return marketplace && other
      ? [
          `registries[${position}].marketplace.name (${name}): registry ${other.name} has a marketplace of this name too: clients can register only one of them`,
        ]
      : [];
  });
}

/** Warns about `publishClaims` of registries without a managed source (reference/publishing). */
export function publishWarnings({ sources, registries }: Pick<Config, 'sources' | 'registries'>): string[] {
  const managed = sources.filter(({ kind }) => KINDS[kind].filledBy === 'publishing').map(({ name }) => name);
  return registries.flatMap(({ name, sources: held, publishClaims }, position) =>
    publishClaims === null || held.some((source) => managed.includes(source))
      ? []
      : [
          `registries[${position}].publishClaims (${name}): has no effect: publishing needs a managed source in this registry`,
        ],
  );
}
