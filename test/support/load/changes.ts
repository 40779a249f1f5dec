import { compare } from 'semver';
import type { Document } from '../documents.js';
import { entryAt } from '../publishing.js';
import type { Claims, Entry, Registry, Source, ModelState } from '../model/model.js';
import {
  FILE_LABELS,
  LABELS,
  MANAGED,
  newDocument,
  SERVERS,
  SKILLS,
  type StoredVersion,
  UNSTEADY,
} from './catalogue.js';
import type { Random } from '../random.js';
import { PROJECTS } from './callers.js';

/** A request that changes the catalog, and the state after its acknowledgement. */
export interface Change {
  readonly what: string;
  readonly by: 'writer' | 'superAdmin';
  readonly method: 'PUT' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  readonly status: readonly number[];
  /**
   * @param reply its parsed body.
   * @param claimsChangedAt when the claims of entries changed, by `claimsTimeKey`.
   */
  after(reply: Document, claimsChangedAt: ReadonlyMap<string, string>): ModelState;
}

export function claimsTimeKey(source: string, { type, name }: Pick<Entry, 'type' | 'name'>): string {
  return `${source} ${type} ${name}`;
}

/** Bounds the state, because memory must stay flat. */
const MAX_VERSIONS = 6;

/** A change that is valid in this state. Half of them publish. */
export function aChange(state: ModelState, random: Random): Change {
  const make = random.weigh([
    [50, publish],
    [14, removeVersion],
    [20, relabel],
    [6, setStatus],
    [5, relabelSource],
    [5, changeRegistry],
  ] as const);
  return make(state, random);
}

function publish(state: ModelState, random: Random): Change {
  const type = random.weigh([
    [4, 'server'],
    [1, 'skill'],
  ] as const);
  const name = random.pick(type === 'server' ? SERVERS : SKILLS);
  const entry = managed(state).find((one) => one.type === type && one.name === name);
  if (entry && entry.versions.length >= MAX_VERSIONS) return removal(state, entry, random);
  const claims = entry?.claims ?? random.pick(LABELS);
  // A super-admin who sends no claims inherits; others must send them.
  const isInherited = Object.keys(claims).length === 0;
  const version = newVersion(entry, random);
  const document = newDocument(type, name, version, MANAGED);
  return {
    what: `publish ${type} ${name}@${version} for ${JSON.stringify(claims)}`,
    by: isInherited ? 'superAdmin' : 'writer',
    method: 'POST',
    path: '/v1/entries',
    body: { [type]: document, ...(isInherited ? {} : { claims }) },
    status: [201],
    after: ({ _meta }) => {
      const stored = {
        version,
        status: 'active',
        document: JSON.stringify(document),
        updatedAt: changedAt(_meta),
      };
      const versions = [...(entry?.versions ?? []), stored].sort((one, other) =>
        compare(other.version, one.version),
      );
      return withEntry(state, { type, name, claims, versions });
    },
  };
}

// Mostly newer versions; sometimes an older one, or a deleted one with another document.
function newVersion(entry: Entry | undefined, random: Random): string {
  const taken = new Set(entry?.versions.map(({ version }) => version));
  for (;;) {
    const version = `1.${Math.floor(random.next() * 12)}.0${random.chance(0.2) ? '-rc.1' : ''}`;
    if (!taken.has(version)) return version;
  }
}

function removeVersion(state: ModelState, random: Random): Change {
  return removal(state, random.pick(managed(state)), random);
}

function removal(state: ModelState, entry: Entry, random: Random): Change {
  const { version } = random.pick(entry.versions);
  return {
    what: `remove ${entry.type} ${entry.name}@${version}`,
    by: 'writer',
    method: 'DELETE',
    path: entryAt(entry.type, entry.name, `/versions/${version}`),
    status: [204],
    after: () =>
      withEntry(state, { ...entry, versions: entry.versions.filter((one) => one.version !== version) }),
  };
}

function relabel(state: ModelState, random: Random): Change {
  const entry = random.pick(managed(state));
  const claims = random.chance(0.15) ? {} : aNewLabel(random);
  return {
    what: `label ${entry.type} ${entry.name} ${JSON.stringify(claims)}`,
    by: 'writer',
    method: 'PUT',
    path: entryAt(entry.type, entry.name, '/claims'),
    body: { claims },
    status: [204],
    after: (_, times) => withEntry(state, { ...timed(MANAGED, entry, times), claims }),
  };
}

// Mostly claims new to the source: no view knows them yet, so a response that mixes two states misses the
// entry.
function aNewLabel(random: Random): Claims {
  const project = random.some(PROJECTS, 0.5);
  return { ...random.pick(LABELS), ...(project.length > 0 ? { project } : {}) };
}

function setStatus(state: ModelState, random: Random): Change {
  const entry = random.pick(managed(state).filter(({ type }) => type === 'server'));
  const { version } = random.pick(entry.versions);
  const status = random.pick(['active', 'deprecated', 'deleted']);
  return {
    what: `make ${entry.name}@${version} ${status}`,
    by: 'writer',
    method: 'PATCH',
    path: entryAt(entry.type, entry.name, `/versions/${version}/status`),
    body: { status },
    status: [200],
    after: ({ _meta }) => {
      const versions = (entry.versions as readonly StoredVersion[]).map((stored) =>
        stored.version === version ? { ...stored, status, updatedAt: changedAt(_meta) } : stored,
      );
      return withEntry(state, { ...entry, versions });
    },
  };
}

function relabelSource(state: ModelState, random: Random): Change {
  const source = random.pick(state.sources.filter(({ kind }) => kind === 'file'));
  const claims = random.pick(FILE_LABELS);
  return {
    ...putSource(source.name, claims),
    // reference/access: inherited entries are relabeled immediately.
    after: (_, times) => withSource(state, labelled(source, claims, times)),
  };
}

/** The directory of the file sources in the services' configuration. */
export const files = { root: '' };

/** Creates a file source, or changes its claims. */
export function putSource(name: string, claims: Claims): Omit<Change, 'after'> {
  return {
    what: `label source ${name} ${JSON.stringify(claims)}`,
    by: 'superAdmin',
    method: 'PUT',
    path: `/v1/sources/${name}`,
    body: { file: { path: `${files.root}/${name}.json` }, syncPolicy: { interval: '1h' }, claims },
    status: [200, 201],
  };
}

function changeRegistry(state: ModelState, random: Random): Change {
  const name = random.pick(UNSTEADY);
  const found = state.registries.find((registry) => registry.name === name);
  if (found && name === 'brief' && random.chance(0.5))
    return {
      what: `remove registry ${name}`,
      by: 'superAdmin',
      method: 'DELETE',
      path: `/v1/registries/${name}`,
      status: [204],
      after: () => ({ ...state, registries: state.registries.filter((registry) => registry !== found) }),
    };
  const sources = random.shuffle(state.sources.map((source) => source.name)).slice(0, 1 + random.next() * 5);
  const claims = random.pick<Claims>([{}, { org: 'acme' }, { org: 'contoso' }, { env: 'dev' }]);
  const registry: Registry = { name, sources, claims, origin: 'api' };
  return {
    ...putRegistry(registry),
    after: () => ({
      ...state,
      registries: [...state.registries.filter((one) => one.name !== name), registry],
    }),
  };
}

export function putRegistry({ name, sources, claims }: Registry): Omit<Change, 'after'> {
  return {
    what: `create registry ${name} of ${sources.join()} for ${JSON.stringify(claims)}`,
    by: 'superAdmin',
    method: 'PUT',
    path: `/v1/registries/${name}`,
    body: { sources, claims },
    status: [200, 201],
  };
}

function managed({ sources }: ModelState): readonly Entry[] {
  return sources.find(({ name }) => name === MANAGED)?.entries ?? [];
}

function withEntry(state: ModelState, entry: Entry): ModelState {
  const source = state.sources.find(({ name }) => name === MANAGED);
  if (!source) throw new Error('There is no managed source');
  const others = source.entries.filter(({ type, name }) => type !== entry.type || name !== entry.name);
  // An entry is deleted with its last version.
  return withSource(state, { ...source, entries: entry.versions.length > 0 ? [...others, entry] : others });
}

function withSource(state: ModelState, source: Source): ModelState {
  return { ...state, sources: state.sources.map((one) => (one.name === source.name ? source : one)) };
}

function labelled(source: Source, claims: Claims, times: ReadonlyMap<string, string>): Source {
  const entries = source.entries.map((entry) => ({ ...timed(source.name, entry, times), claims }));
  return { ...source, claims, entries };
}

function timed(source: string, entry: Entry, times: ReadonlyMap<string, string>): Entry {
  const claimsChangedAt = times.get(claimsTimeKey(source, entry));
  if (claimsChangedAt === undefined) return entry;
  return { ...entry, versions: entry.versions.map((version) => ({ ...version, claimsChangedAt })) };
}

function changedAt(meta: unknown): string {
  const official = (meta as Record<string, { updatedAt: string }>)[
    'io.modelcontextprotocol.registry/official'
  ];
  return official?.updatedAt ?? '';
}
