import { aServer, aSkill, type Document } from '../documents.js';
import type { Claims, Entry, EntryType, Setting, Source, Version, ModelState } from '../model/model.js';
import { SORTS_OF_CALLERS } from './callers.js';

/** The model check's `Version`, plus the fields that only the load test compares. */
export interface StoredVersion extends Version {
  /** The document as JSON.stringify writes it. */
  readonly document: string;
  /** RFC 3339; empty for versions stored before the load began. */
  readonly updatedAt: string;
  /** When its entry's claims last changed, RFC 3339; absent if they never did. */
  readonly claimsChangedAt?: string;
}

export const MANAGED = 'published';
/** Registries that never change, and those that change all the time. */
export const STEADY = ['main', 'acme'] as const;
export const UNSTEADY = ['flux', 'back', 'brief'] as const;
export const SERVERS = Array.from(
  { length: 16 },
  (_, index) => `io.acme/s-${String(index).padStart(2, '0')}`,
);
export const SKILLS = Array.from({ length: 6 }, (_, index) => `io.acme/k-${index}`);

export const ROLES: Setting['roles'] = {
  superAdmin: [{ role: 'super-admin' }],
  manageSources: [{ role: 'admin' }],
  manageRegistries: [{ role: 'admin' }],
  manageEntries: [{ role: 'writer' }],
};

/** Claims for entries of the managed source. */
export const LABELS: readonly Claims[] = [
  { org: 'acme' },
  { org: 'acme', team: 'platform' },
  { org: 'acme', team: 'data' },
  { org: 'acme', team: 'web' },
  { org: 'acme', team: ['data', 'platform'] },
  { org: 'acme', env: 'prod' },
  { org: 'acme', env: 'dev' },
  { org: 'contoso' },
  { org: 'contoso', env: 'dev' },
  { tier: '1' },
];

/** Claims for file sources; each lets callers who are not super-admins see the entries. */
export const FILE_LABELS: readonly Claims[] = [
  { org: 'acme', team: 'platform' },
  { org: 'acme' },
  { org: 'contoso' },
  { org: 'acme', env: 'dev' },
  { org: 'acme', team: 'web' },
  {},
];

let serial = 0;

/** A unique document, distinguishable from earlier ones of the same name and version. */
export function newDocument(type: EntryType, name: string, version: string, source: string): Document {
  serial += 1;
  const more = {
    description: `From ${source}, document ${serial}`,
    _meta: { 'io.modelcontextprotocol.registry/publisher-provided': { notes: `${serial} `.repeat(80) } },
  };
  return type === 'server' ? aServer(name, version, more) : aSkill(name, version, more);
}

/** The state before the load: names in several sources, one of which is hidden from some callers. */
export function aStartingState(): ModelState {
  const file = (
    name: string,
    claims: Claims,
    servers: readonly string[],
    skills: readonly string[],
  ): Source => {
    const entry = (type: EntryType) => (entryName: string, index: number) =>
      anEntry(name, type, entryName, claims, index % 3 === 0 ? ['1.1.0', '1.0.0'] : ['1.0.0']);
    const entries = [...servers.map(entry('server')), ...skills.map(entry('skill'))];
    return { name, kind: 'file', origin: 'api', claims, entries };
  };
  const published = [
    // Visible to super-admins only.
    anEntry(MANAGED, 'server', SERVERS[15] ?? '', {}, ['1.0.0']),
    ...SERVERS.slice(0, 12).map((name, index) => anEntry(MANAGED, 'server', name, label(index), ['1.0.0'])),
    ...SKILLS.slice(0, 4).map((name, index) => anEntry(MANAGED, 'skill', name, label(index * 2), ['1.0.0'])),
  ];
  const registry = (name: string, sources: readonly string[], claims: Claims = {}) => ({
    name,
    sources,
    claims,
    origin: 'api' as const,
  });
  return {
    setting: {
      mode: 'full',
      arrayValues: 'all',
      unlabeled: 'allow',
      registryListing: 'managers',
      adminOpenAccess: false,
      roles: ROLES,
      mappings: [],
    },
    callers: SORTS_OF_CALLERS,
    sources: [
      { name: MANAGED, kind: 'managed', origin: 'api', claims: {}, entries: published },
      file('tools', { org: 'acme', team: 'platform' }, SERVERS.slice(0, 10), SKILLS.slice(0, 3)),
      file('shared', { org: 'acme' }, SERVERS.slice(5, 15), SKILLS.slice(2, 5)),
      file('labs', { org: 'acme', env: 'dev' }, SERVERS.slice(3, 9), SKILLS.slice(4)),
      file('vendor', { org: 'contoso' }, SERVERS.slice(8, 14), SKILLS.slice(1, 2)),
    ],
    registries: [
      registry('main', ['tools', MANAGED, 'shared', 'vendor', 'labs']),
      registry('acme', ['shared', MANAGED, 'tools'], { org: 'acme' }),
      registry('flux', [MANAGED, 'labs', 'vendor']),
      registry('back', ['labs', 'vendor', 'shared', MANAGED, 'tools'], { org: 'acme' }),
      registry('brief', ['vendor', MANAGED]),
    ],
  };
}

function anEntry(
  source: string,
  type: EntryType,
  name: string,
  claims: Claims,
  versions: readonly string[],
): Entry {
  return {
    type,
    name,
    claims,
    versions: versions.map((version): StoredVersion => {
      const document = JSON.stringify(newDocument(type, name, version, source));
      return { version, status: 'active', document, updatedAt: '' };
    }),
  };
}

function label(index: number): Claims {
  return LABELS[index % LABELS.length] ?? {};
}
