// The reference model of who sees what, as short as possible. It is derived only from the specification and compared
// with the API; it imports nothing from src/ and need not be fast.
import {
  type AdminQuestion,
  type Answer,
  type Claims,
  type ConsumerQuestion,
  type Entry,
  type Held,
  MAPPED,
  type MappingRule,
  type Question,
  type Registry,
  type Role,
  ROLES,
  type Setting,
  type Source,
  type Version,
  type ModelState,
} from './model.js';
import { claimsInOrder } from './questions.js';

/** The API's response to one of this state's callers. */
export function answer(state: ModelState, question: Question): Answer {
  const { setting, registries, callers } = state;
  const token = callers[question.by] ?? null;
  const mapping = setting.mappings[MAPPED.indexOf(String(token?.['aud']))];
  const isMapped = mapping !== undefined;
  const caller = token && isMapped ? mapped(token, mapping) : token;
  if ('type' in question) return consume(state, caller, question);
  if (setting.mode !== 'anonymous' && caller === null) return refuse(401, 'token_missing');
  const rights = rightsOf(setting, caller ?? {});
  if (question.ask === 'me')
    return setting.mode === 'anonymous'
      ? refuse(401, 'anonymous_mode')
      : show([...rights.roles, ...(caller && isMapped ? [claimsInOrder(caller)] : [])]);
  if (question.ask === 'registries')
    return show(inOrder(registries.filter(rights.reaches)).map(({ name }) => name));
  return administer(state, rights, question);
}

// reference/access: only mapped claims exist, and `sub` stays; rules with the same `to` add up; only strings, numbers,
// booleans and flat arrays are kept, and only values that `values` contains.
function mapped(token: Held, rules: readonly MappingRule[]): Held {
  const given = rules.flatMap(({ to, from, values, value, when }) => {
    if (from === undefined) return covers(token, when ?? {}, 'all') ? [[to, String(value)] as const] : [];
    const found = [at(token, from.split('/').slice(1))].flat();
    if (!found.every((one) => /string|number|boolean/.test(typeof one))) return [];
    const texts = found.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
    return texts
      .filter((text) => values === undefined || Object.hasOwn(values, text))
      .map((text) => [to, values?.[text] ?? text] as const);
  });
  const keys = new Set(given.map(([key]) => key));
  const valuesOf = (key: string) =>
    new Set(given.filter(([other]) => other === key).map(([, value]) => value));
  return { sub: token['sub'], ...Object.fromEntries([...keys].map((key) => [key, [...valuesOf(key)]])) };
}

function at(value: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined) return value;
  const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject && Object.hasOwn(value, name) ? at(value[name as keyof typeof value], rest) : undefined;
}

type Rights = ReturnType<typeof rightsOf>;

function rightsOf(setting: Setting, held: Held, hasToken = true) {
  // reference/access: outside full mode every caller has every role; otherwise one matching rule is enough. An array in
  // a rule lists alternatives.
  const roles = ROLES.filter(
    (role) =>
      setting.mode !== 'full' || (hasToken && setting.roles[role].some((rule) => covers(held, rule, 'any'))),
  );
  const isFree = roles.includes('superAdmin');
  const satisfies = (claims: Claims) => covers(held, claims, setting.arrayValues);
  return {
    roles,
    may: (role: Role) => isFree || roles.includes(role),
    /** The registry gate and admin scoping. */
    reaches: ({ claims }: { claims: Claims }) =>
      isFree || (isEmpty(claims) ? setting.unlabeled === 'allow' : satisfies(claims)),
    // reference/access: both sides must have claims.
    sees: ({ claims }: Entry) => isFree || (!isEmpty(claims) && satisfies(claims)),
  };
}

// reference/access: AND over the keys; any element of the caller's array suffices; numbers and booleans
// compare as JSON text.
function covers(held: Held, required: Claims, arrays: 'all' | 'any'): boolean {
  return Object.entries(required).every(([key, wanted]) => {
    const owned: unknown[] = Object.hasOwn(held, key) ? [held[key]].flat() : [];
    const texts = owned.map((value) => (/number|boolean/.test(typeof value) ? JSON.stringify(value) : value));
    const has = (value: string) => texts.includes(value);
    return arrays === 'all' ? [wanted].flat().every(has) : [wanted].flat().some(has);
  });
}

// reference/errors: role, then load or 404.
function administer(
  { setting, sources, registries }: ModelState,
  rights: Rights,
  question: AdminQuestion,
): Answer {
  // Only managers of registries see which keys exist.
  const visible = ({ anonymous = null, key = null, ...registry }: Registry) => ({
    ...registry,
    anonymous,
    key: rights.may('manageRegistries') ? key : null,
  });
  const isSource = question.ask === 'admin sources' || question.ask.startsWith('source');
  // reference/configuration: with `readers` every caller may list and get registries; raw entries stay with the managers.
  const isOpen = setting.registryListing === 'readers' && /registr(y|ies)$/.test(question.ask);
  if (!isOpen && !rights.may(isSource ? 'manageSources' : 'manageRegistries'))
    return refuse(403, 'role_required');
  if (question.ask === 'admin sources')
    return show(sources.filter(rights.reaches).sort(byName).map(settingsOf));
  if (question.ask === 'admin registries')
    return show(inOrder(registries.filter(rights.reaches)).map(visible));
  const found = (isSource ? sources : registries).find(({ name }) => name === question.of);
  if (!found || !rights.reaches(found))
    return refuse(404, isSource ? 'source_not_found' : 'registry_not_found');
  if ('sources' in found && question.ask === 'registry') return show([visible(found)]);
  const own = sources.filter(({ name }) =>
    'sources' in found ? found.sources.includes(name) : found.name === name,
  );
  if (question.ask === 'source') return show(own.map(settingsOf));
  return show(
    own.flatMap((source) => source.entries.map((entry) => ({ ...entry, versions: marked(entry) }))),
  );
}

// reference/catalog: unknown 404, gate 403, visibility, then shadowing; hidden entries are absent or 404.
function consume(
  { setting, sources, registries }: ModelState,
  caller: Held | null,
  question: ConsumerQuestion,
): Answer {
  const registry = registries.find(({ name }) => name === question.of);
  const asksForTokens = setting.mode !== 'anonymous';
  // reference/access: an invalid key is refused first; if a token is sent, only its claims count; anonymous and key
  // claims grant no role.
  // reference/configuration: open access of a registry created through the API counts only with adminOpenAccess.
  const opened = setting.adminOpenAccess || registry?.origin === 'config' ? registry : undefined;
  const lent = question.key ? question.key === 'right' && opened?.key : opened?.anonymous;
  if (question.key && !(asksForTokens && lent)) return refuse(404, 'registry_not_found');
  if (asksForTokens && caller === null && !lent) return refuse(401, 'token_missing');
  const rights = rightsOf(setting, caller ?? (lent || {}), caller !== null);
  if (!registry) return refuse(404, 'registry_not_found');
  if (!rights.reaches(registry)) return refuse(403, 'registry_forbidden');
  const seen = registry.sources
    .flatMap((from) => sources.filter(({ name }) => name === from))
    .flatMap((source) => source.entries.map((entry) => ({ ...entry, from: source.name })))
    .filter((entry) => entry.type === question.type && rights.sees(entry))
    .filter((entry, index, all) => all.findIndex(({ name }) => name === entry.name) === index)
    .sort(byName);
  const isServer = question.type === 'server';
  const rows = seen.flatMap((entry) =>
    marked(entry).map((row) => ({ name: entry.name, from: entry.from, ...row })),
  );
  const listed = rows.filter(({ status }) => status !== 'deleted' || question.deleted);
  // A skill is returned as the bare document, without status.
  const bare = (shown: typeof rows) =>
    show(isServer ? shown : shown.map(({ name, version, from }) => ({ name, version, from })));
  // Lists of skills have no include_deleted.
  if (question.ask === 'list')
    return bare(listed.filter(({ isLatest, status }) => isServer || (isLatest && status !== 'deleted')));
  const versions = listed.filter(({ name }) => name === question.name);
  if (question.ask === 'versions')
    return versions.length > 0 ? bare(versions) : refuse(404, 'entry_not_found');
  const one = versions.filter(({ version, isLatest }) =>
    question.version === 'latest' ? isLatest : version === question.version,
  );
  return one.length > 0
    ? bare(one)
    : refuse(404, versions.length > 0 ? 'version_not_found' : 'entry_not_found');
}

/** The latest version is the newest that is not deleted, or else the newest. */
function marked({ versions }: Entry): (Version & { isLatest: boolean })[] {
  const latest = versions.find(({ status }) => status !== 'deleted') ?? versions[0];
  return versions.map((version) => ({ ...version, isLatest: version === latest }));
}

const settingsOf = ({ name, kind, origin, claims }: Source) => ({ name, kind, origin, claims });
const show = (shown: readonly unknown[]): Answer => ({ status: 200, shown });
const refuse = (status: number, code: string): Answer => ({ status, code });
const isEmpty = (claims: Claims) => Object.keys(claims).length === 0;
const byName = (one: { name: string }, other: { name: string }) => (one.name < other.name ? -1 : 1);
// reference/catalog: configuration order; registries created through the API by age.
const inOrder = (all: readonly Registry[]) => [
  ...all.filter(({ origin }) => origin === 'config'),
  ...all.filter(({ origin }) => origin === 'api'),
];
