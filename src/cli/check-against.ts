import { canonicalClaims, type Claims } from '../claims/claims.js';
import type { Config } from '../config/config.js';
import { bothOf, sentenceOf } from '../explain/who.service.js';
import { OfflineAccess, readCatalogue, type ShownNames } from './offline-access.js';

const MAX_CALLERS = 5_000;
const MAX_NAMED = 5;
const NO_CLAIMS = 'a caller without claims';

/**
 * Prints whose access changes from one configuration to another, and how (contract §10). Compares callers who hold the
 * claims that either configuration requires anywhere. Any real caller whose access changes therefore holds at least the
 * claims of one of the compared callers.
 */
export async function checkAgainst(config: Config, old: Config): Promise<number> {
  const catalogue = await readCatalogue(config);
  const before = new OfflineAccess(old, await readCatalogue({ ...old, database: config.database }));
  const after = new OfflineAccess(config, catalogue);
  const lines = changes(before, after);
  process.stdout.write(lines.length === 0 ? 'No access changes.' : lines.join('\n'));
  process.stdout.write(`\n${lines.length} change(s), ${catalogue.origin}\n`);
  return 0;
}

/** Returns one sentence for each caller and each changed role or registry. */
export function changes(before: OfflineAccess, after: OfflineAccess): string[] {
  const registries = [...new Set([...namesOf(before), ...namesOf(after)])];
  return callersOf([before, after]).flatMap((claims) => {
    const who = sentenceOf([{ required: claims, arrays: 'all' }]) || NO_CLAIMS;
    const [had, has] = [before.rolesOf(claims), after.rolesOf(claims)];
    const roles = [
      ...had.filter((role) => !has.includes(role)).map((role) => `loses the role ${role}`),
      ...has.filter((role) => !had.includes(role)).map((role) => `gains the role ${role}`),
    ];
    const seen = registries.flatMap((registry) => registryChanges(before, after, registry, claims));
    return [...roles, ...seen].map((change) => `${who}: ${change}`);
  });
}

function registryChanges(
  before: OfflineAccess,
  after: OfflineAccess,
  registry: string,
  claims: Claims,
): string[] {
  const [entered, enters] = [before.enters(claims, registry), after.enters(claims, registry)];
  const [had, has] = [before.shown(claims, registry), after.shown(claims, registry)];
  const lost = without(had, has);
  const gained = without(has, had);
  return [
    ...(entered && !enters ? [`can no longer enter registry ${registry}`] : []),
    ...(!entered && enters ? [`can now enter registry ${registry}`] : []),
    ...(lost.length > 0 ? [`loses ${listed(lost)} in registry ${registry}: ${named(lost)}`] : []),
    ...(gained.length > 0 ? [`gains ${listed(gained)} in registry ${registry}: ${named(gained)}`] : []),
  ];
}

function callersOf(both: readonly OfflineAccess[]): Claims[] {
  const callers = new Map<string, Claims>();
  const add = (claims: Claims | undefined) => {
    if (claims && callers.size < MAX_CALLERS) callers.set(canonicalClaims(claims), claims);
  };
  add({});
  for (const { config } of both)
    for (const rules of Object.values(config.auth.authz?.roles ?? {}))
      for (const rule of rules) for (const caller of callersCovering(rule, 'any')) add(caller);
  for (const access of both) {
    const arrays = access.config.auth.authz?.policy.arrayValues ?? 'all';
    for (const { name, claims: gate } of access.config.registries) {
      for (const caller of callersCovering(gate, arrays)) add(caller);
      for (const claims of access.claimsOf(name))
        for (const caller of callersCovering(claims, arrays))
          for (const entering of callersCovering(gate, arrays)) add(bothOf(entering, caller, 'all'));
    }
  }
  return [...callers.values()];
}

// contract §5: if one value of an array is enough, each value yields a separate caller.
function callersCovering(claims: Claims, arrays: 'all' | 'any'): Claims[] {
  if (arrays === 'all') return [claims];
  const [key, values] = Object.entries(claims).find(([, value]) => typeof value !== 'string') ?? [];
  if (key === undefined || values === undefined) return [claims];
  return [values].flat().flatMap((value) => callersCovering({ ...claims, [key]: value }, arrays));
}

function namesOf({ config }: OfflineAccess): string[] {
  return config.registries.map(({ name }) => name);
}

function without(these: ShownNames, those: ShownNames): string[] {
  return [...these].filter((name) => !those.has(name));
}

function listed({ length }: readonly string[]): string {
  return length === 1 ? '1 entry' : `${length} entries`;
}

function named(names: readonly string[]): string {
  const more = names.length - MAX_NAMED;
  return names.slice(0, MAX_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
