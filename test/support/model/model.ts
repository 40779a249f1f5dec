/** A whole small state for the model check: what is configured and stored, and who asks. */
export interface ModelState {
  readonly setting: Setting;
  readonly sources: readonly Source[];
  /** Those of one origin in the order of the file, or by age. */
  readonly registries: readonly Registry[];
  /** The claims of the callers' tokens; null for somebody who has none. */
  readonly callers: readonly (Held | null)[];
}

export type Claims = Readonly<Record<string, string | readonly string[]>>;
export type Held = Readonly<Record<string, unknown>>;
export type EntryType = 'server' | 'skill';
export type Origin = 'config' | 'api';

export const ROLES = ['superAdmin', 'manageSources', 'manageRegistries', 'manageEntries'] as const;
export type Role = (typeof ROLES)[number];

/** What one service is started with. */
export interface Setting {
  readonly mode: 'anonymous' | 'auth-only' | 'full';
  readonly arrayValues: 'all' | 'any';
  readonly unlabeled: 'allow' | 'deny';
  readonly registryListing: 'managers' | 'readers';
  readonly roles: Readonly<Record<Role, readonly Claims[]>>;
  /** What the providers whose audiences are `MAPPED` may say, each by rules of its own. The first one may say everything. */
  readonly mappings: readonly (readonly MappingRule[])[];
}

/** The audiences of the providers that map claims. */
export const MAPPED = Array.from({ length: 8 }, (_, index) => `mapped-${index}`);

/** As the configuration spells it. */
export interface MappingRule {
  readonly to: string;
  readonly from?: string;
  readonly values?: Readonly<Record<string, string>>;
  readonly value?: string;
  readonly when?: Claims;
}

export interface Version {
  readonly version: string;
  readonly status: string;
}

export interface Entry {
  readonly type: EntryType;
  readonly name: string;
  /** Those of the source, unless it is a managed one. */
  readonly claims: Claims;
  /** Newest first. */
  readonly versions: readonly Version[];
}

export interface Source {
  readonly name: string;
  readonly kind: 'file' | 'managed';
  readonly origin: Origin;
  readonly claims: Claims;
  readonly entries: readonly Entry[];
}

export interface Registry {
  readonly name: string;
  readonly sources: readonly string[];
  readonly origin: Origin;
  readonly claims: Claims;
  /** What a caller without a token holds; none: it asks for one. */
  readonly anonymous?: Claims | null;
  /** What the holders of its key hold; none: it has no key. */
  readonly key?: Claims | null;
}

/** One request of the caller at the place `by`. */
export type Question = AdminQuestion | ConsumerQuestion | (By & ({ ask: 'me' } | { ask: 'registries' }));

interface By {
  readonly by: number;
}

/** `of` is the name of a source or registry. */
export type AdminQuestion = By &
  (
    | { readonly ask: 'admin sources' }
    | { readonly ask: 'admin registries' }
    | { readonly ask: 'source' | 'source entries' | 'registry' | 'registry entries'; readonly of: string }
  );

export interface ConsumerQuestion extends By {
  readonly ask: 'list' | 'versions' | 'version';
  readonly of: string;
  readonly type: EntryType;
  readonly name: string;
  readonly version: string;
  readonly deleted: boolean;
  /** The key in the path of the registry: that of this registry, or another one. */
  readonly key?: 'right' | 'wrong' | null;
  /** Whether the MCP endpoint is asked, too, if it has a tool for it. */
  readonly byTool?: boolean;
}

/** What counts of an answer: the rows it shows, or why it shows none. */
export type Answer =
  | { readonly status: 200; readonly shown: readonly unknown[] }
  | { readonly status: number; readonly code: string };
