/** A small complete state of the model check: configuration, content and callers. */
export interface ModelState {
  readonly setting: Setting;
  readonly sources: readonly Source[];
  /** Each origin's registries in file order, or by age. */
  readonly registries: readonly Registry[];
  /** The claims of the callers' tokens; null: no token. */
  readonly callers: readonly (Held | null)[];
}

export type Claims = Readonly<Record<string, string | readonly string[]>>;
export type Held = Readonly<Record<string, unknown>>;
export type EntryType = 'server' | 'skill';
type Origin = 'config' | 'api';

export const ROLES = ['superAdmin', 'manageSources', 'manageRegistries', 'manageEntries'] as const;
export type Role = (typeof ROLES)[number];

/** The settings of one service. */
export interface Setting {
  readonly mode: 'anonymous' | 'auth-only' | 'full';
  readonly arrayValues: 'all' | 'any';
  readonly unlabeled: 'allow' | 'deny';
  readonly registryListing: 'managers' | 'readers';
  /** Whether registries created through the API may be open to callers without a token. */
  readonly adminOpenAccess: boolean;
  readonly roles: Readonly<Record<Role, readonly Claims[]>>;
  /** Claim mappings of the providers whose audiences are `MAPPED`. The first maps everything. */
  readonly mappings: readonly (readonly MappingRule[])[];
}

/** The audiences of the providers that map claims. */
export const MAPPED = Array.from({ length: 8 }, (_, index) => `mapped-${index}`);

/** A mapping rule as spelled in the configuration. */
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
  /** The source's claims, unless it is managed. */
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
  /** Claims of callers without a token; absent: a token is required. */
  readonly anonymous?: Claims | null;
  /** Claims of callers with its key; absent: it has no key. */
  readonly key?: Claims | null;
}

/** One request of caller number `by`. */
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
  /** The key in the path: this registry's, or a wrong one. */
  readonly key?: 'right' | 'wrong' | null;
  /** Whether the MCP endpoint is also asked, if it has a tool for it. */
  readonly byTool?: boolean;
}

/** The compared part of a response: its rows, or the reason there are none. */
export type Answer =
  | { readonly status: 200; readonly shown: readonly unknown[] }
  | { readonly status: number; readonly code: string };
