import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { Allow, ArrayMaxSize, IsArray, IsBoolean, IsOptional, ValidateNested } from 'class-validator';
import { type Claims, CLAIMS_SCHEMA } from '../claims/claims.js';
import { type Unchecked, ValidateClass } from '../validation/class-validation.js';
import { IsClaims, IsDuration, IsGlob } from '../validation/decorators.js';
import { below, formatDuration, type Issue, issue, parseDuration } from '../validation/value-checks.js';
import { AdmissionSettings } from './admission-settings.dto.js';
import {
  ApiSettings,
  FileSettings,
  GitSettings,
  KubernetesSettings,
  ManagedSettings,
} from './kind-settings.dto.js';
import {
  GUARDED_SOURCES,
  isGuardedFromShrinking,
  KINDS,
  SOURCE_KINDS,
  type SourceKind,
  type WrittenSettings,
} from './kinds.js';
import { asWritten, type Setting, type Stored } from './settings-table.js';

export class SyncPolicy {
  /** The sync interval. */
  @ApiProperty({ example: '30m' }) @IsDuration() interval: string;
}

/** Globs: `*` also matches "/", `?` matches one character; exclude wins. */
export class PatternFilter {
  @IsOptional() @IsArray() @ArrayMaxSize(200) @IsGlob({ each: true }) include?: string[];
  @IsOptional() @IsArray() @ArrayMaxSize(200) @IsGlob({ each: true }) exclude?: string[];
}

export class EntryFilter {
  @IsOptional() @ValidateNested() @Type(() => PatternFilter) names?: PatternFilter;
  @IsOptional() @ValidateNested() @Type(() => PatternFilter) tags?: PatternFilter;
}

/** One section per kind; a source has exactly one. */
export type KindSections = { [K in SourceKind]?: WrittenSettings<K> };

/** A source without its name: an item of `sources:` and the body of `PUT /v1/sources/{name}` (reference/configuration, reference/sources). */
@ValidateClass<SourceSettings>(kindAndInterval)
export class SourceSettings implements KindSections {
  @IsOptional() @ValidateNested() @Type(() => FileSettings) file?: FileSettings;
  @IsOptional() @ValidateNested() @Type(() => GitSettings) git?: GitSettings;
  @IsOptional() @ValidateNested() @Type(() => ApiSettings) api?: ApiSettings;
  @IsOptional() @ValidateNested() @Type(() => ManagedSettings) managed?: ManagedSettings;
  @IsOptional() @ValidateNested() @Type(() => KubernetesSettings) kubernetes?: KubernetesSettings;
  @IsOptional() @ValidateNested() @Type(() => SyncPolicy) syncPolicy?: SyncPolicy;
  @IsOptional() @ValidateNested() @Type(() => EntryFilter) filter?: EntryFilter;
  /** Which versions are admitted; for synced sources. */
  @IsOptional() @ValidateNested() @Type(() => AdmissionSettings) admission?: AdmissionSettings;
  /** Disables the shrink guard: one sync may remove most entries. */
  @IsOptional() @IsBoolean() allowShrink?: boolean;
  @ApiPropertyOptional(CLAIMS_SCHEMA) @IsOptional() @IsClaims() claims?: Claims;
}

interface SourceSetting<Written> extends Setting<Written> {
  /** Whether a change to this setting makes the next sync read everything. */
  readonly isContent: boolean;
}

/**
 * Every setting of a source except its kind and claims. A new setting compiles only with a row here and a
 * column in `Source`.
 */
export const SOURCE_SETTINGS = {
  syncPolicy: {
    column: 'intervalMs',
    stored: (policy) => (policy ? (parseDuration(policy.interval) ?? null) : null),
    shown: (ms: number | null) => (ms === null ? undefined : { interval: formatDuration(ms) }),
    isContent: false,
  },
  filter: { column: 'filter', ...asWritten<EntryFilter>(), isContent: true },
  admission: { column: 'admission', ...asWritten<AdmissionSettings>(), isContent: true },
  allowShrink: {
    column: 'allowShrink',
    stored: (isAllowed) => isAllowed ?? false,
    shown: (isAllowed: boolean) => isAllowed || undefined,
    isContent: false,
  },
} as const satisfies {
  [K in Exclude<keyof SourceSettings, SourceKind | 'claims'>]: SourceSetting<NonNullable<SourceSettings[K]>>;
};

/** The settings of a source, except its kind and claims, as stored. */
export type StoredSourceSettings = Stored<typeof SOURCE_SETTINGS>;

/** The body of `PUT /v1/sources/{name}`: it may repeat members that only the server sets (reference/sources). */
export class SourceBody extends SourceSettings {
  @Allow() name?: unknown;
  @Allow() kind?: unknown;
  @Allow() origin?: unknown;
  @Allow() createdAt?: unknown;
  @Allow() updatedAt?: unknown;
  /** Ignored, because it changes constantly. */
  @Allow() sync?: unknown;
}

/** The members of a SourceBody that must match the stored values. */
export const SOURCE_READ_ONLY = ['name', 'kind', 'origin', 'createdAt', 'updatedAt'] as const;

/** The optional body of `POST /v1/sources/{name}/sync` (reference/sources). */
export class SyncRequest {
  /** Disables the shrink guard for this sync: it may remove most entries. */
  @IsOptional() @IsBoolean() allowShrink?: boolean;
}

function kindsIn(source: Unchecked<SourceSettings>): SourceKind[] {
  return SOURCE_KINDS.filter((kind) => source[kind] !== undefined);
}

/** Returns the kind of a validated source: the name of its only section. */
export function kindOf(source: SourceSettings): SourceKind {
  const [kind] = kindsIn(source);
  if (kind === undefined) throw new Error('A source without a kind passed validation');
  return kind;
}

function kindAndInterval(source: Unchecked<SourceSettings>): Issue[] {
  const kinds = kindsIn(source);
  const [kind] = kinds;
  if (kind === undefined) return issue(`has no kind: exactly one of ${SOURCE_KINDS.join(', ')} is required`);
  if (kinds.length > 1) return issue(`has ${kinds.join(' and ')}: a source has exactly one kind`);
  const isSynced = KINDS[kind].filledBy === 'sync';
  if (isSynced && source.syncPolicy === undefined)
    return below(['syncPolicy'], issue(`is required for a source of kind ${kind}, with an interval`));
  if (!isSynced && source.syncPolicy !== undefined)
    return below(['syncPolicy'], issue(`is not allowed for a source of kind ${kind}, which is not synced`));
  if (!isSynced && source.admission !== undefined)
    return below(['admission'], issue(`is not allowed for a source of kind ${kind}, which is not synced`));
  if (source.allowShrink !== undefined && !isGuardedFromShrinking(kind, source[kind]))
    return below(
      ['allowShrink'],
      issue(
        `is only possible for sources with ${GUARDED_SOURCES.join(' or ')}: only those have a shrink guard`,
      ),
    );
  return [];
}

/** Example bodies of `PUT /v1/sources/{name}`: one per kind, and a file at a URL. */
export const SOURCE_EXAMPLES: Record<SourceKind | 'url', { summary: string; value: SourceSettings }> = {
  file: {
    summary: 'A file on the server, below an admin file root',
    value: {
      file: { path: 'registry.json' },
      syncPolicy: { interval: '30m' },
      claims: { org: 'acme' },
    },
  },
  url: {
    summary: 'A file at a URL',
    value: {
      file: { url: 'https://catalogues.example.com/registry.json' },
      syncPolicy: { interval: '1h' },
      filter: { names: { include: ['io.github.acme/*'], exclude: ['*-internal'] } },
      claims: { org: 'acme' },
    },
  },
  git: {
    summary: 'A file in a Git repository',
    value: {
      git: { repository: 'https://github.com/acme/catalogue.git', branch: 'main', path: 'registry.json' },
      syncPolicy: { interval: '30m' },
      claims: { org: 'acme', team: ['platform', 'data'] },
    },
  },
  api: {
    summary: 'Another MCP registry',
    value: {
      api: { endpoint: 'https://registry.modelcontextprotocol.io', timeout: '10s' },
      syncPolicy: { interval: '6h' },
      filter: { tags: { include: ['official'] } },
    },
  },
  managed: {
    summary: 'Published entries; names that begin with com.acme are reserved for the platform team',
    value: {
      managed: { names: [{ include: ['com.acme/*'], claims: { org: 'acme', team: 'platform' } }] },
      claims: { org: 'acme' },
    },
  },
  kubernetes: {
    summary: 'ToolHive resources in a cluster',
    value: { kubernetes: { namespaces: ['mcp-servers'] }, claims: { org: 'acme' } },
  },
};
