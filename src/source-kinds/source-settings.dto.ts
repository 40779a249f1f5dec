import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { CLAIMS_SCHEMA } from '../claims/claim-rules.js';
import type { Claims } from '../claims/claims.js';
import { Checked, Optional, Rule, Section, type Unchecked } from '../validation/class-checks.js';
import { below, type Issue, issue } from '../validation/problems.js';
import { claims, duration, flag, globs } from '../validation/value-checks.js';
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

export class SyncPolicy {
  /** How often it is read again. */
  @ApiProperty({ example: '30m' }) @Checked(duration) interval: string;
}

/** Globs: `*` crosses "/", `?` is one character; exclude wins. */
export class PatternFilter {
  @Optional() @Checked(globs) include?: string[];
  @Optional() @Checked(globs) exclude?: string[];
}

export class EntryFilter {
  @Optional() @Section(() => PatternFilter) names?: PatternFilter;
  @Optional() @Section(() => PatternFilter) tags?: PatternFilter;
}

/** A section for each kind, of which a source has exactly one. */
export type KindSections = { [K in SourceKind]?: WrittenSettings<K> };

/** A source without its name: an item of `sources:`, and the body of `PUT /v1/sources/{name}` (contract §2, §7). */
@Rule<SourceSettings>(kindAndInterval)
export class SourceSettings implements KindSections {
  @Optional() @Section(() => FileSettings) file?: FileSettings;
  @Optional() @Section(() => GitSettings) git?: GitSettings;
  @Optional() @Section(() => ApiSettings) api?: ApiSettings;
  @Optional() @Section(() => ManagedSettings) managed?: ManagedSettings;
  @Optional() @Section(() => KubernetesSettings) kubernetes?: KubernetesSettings;
  @Optional() @Section(() => SyncPolicy) syncPolicy?: SyncPolicy;
  @Optional() @Section(() => EntryFilter) filter?: EntryFilter;
  /** May it lose most of its entries at once? */
  @Optional() @Checked(flag) allowShrink?: boolean;
  @ApiPropertyOptional(CLAIMS_SCHEMA) @Optional() @Checked(claims) claims?: Claims;
}

/** The body of `POST /v1/sources/{name}/sync`, which may be absent (contract §7). */
export class SyncRequest {
  /** May the source lose most of its entries in this one sync? */
  @Optional() @Checked(flag) allowShrink?: boolean;
}

function kindsIn(source: Unchecked<SourceSettings>): SourceKind[] {
  return SOURCE_KINDS.filter((kind) => source[kind] !== undefined);
}

/** The kind of a source that has been checked, by the one section that names it. */
export function kindOf(source: SourceSettings): SourceKind {
  const [kind] = kindsIn(source);
  if (kind === undefined) throw new Error('A source without a kind was not refused');
  return kind;
}

function kindAndInterval(source: Unchecked<SourceSettings>): Issue[] {
  const kinds = kindsIn(source);
  const [kind] = kinds;
  if (kind === undefined) return issue(`has no kind: exactly one of ${SOURCE_KINDS.join(', ')} is needed`);
  if (kinds.length > 1) return issue(`has ${kinds.join(' and ')}: a source is of exactly one kind`);
  const isSynced = KINDS[kind].filledBy === 'sync';
  if (isSynced && source.syncPolicy === undefined)
    return below(['syncPolicy'], issue(`is required for a source of kind ${kind}, with an interval`));
  if (!isSynced && source.syncPolicy !== undefined)
    return below(['syncPolicy'], issue(`is not possible for a source of kind ${kind}, which is not synced`));
  if (source.allowShrink !== undefined && !isGuardedFromShrinking(kind, source[kind]))
    return below(
      ['allowShrink'],
      issue(
        `is only possible for sources with ${GUARDED_SOURCES.join(' or ')}: only those have a shrink guard`,
      ),
    );
  return [];
}

/** Bodies of `PUT /v1/sources/{name}`: one of each kind, and a file behind a URL. */
export const SOURCE_EXAMPLES: Record<SourceKind | 'url', { summary: string; value: SourceSettings }> = {
  file: {
    summary: 'A file on the machine of the server, below its adminFileRoot',
    value: {
      file: { path: 'registry.json' },
      syncPolicy: { interval: '30m' },
      claims: { org: 'acme' },
    },
  },
  url: {
    summary: 'A file behind a URL',
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
    summary: 'What publishers send; names that begin with com.acme are for the platform team',
    value: {
      managed: { names: [{ include: ['com.acme/*'], claims: { org: 'acme', team: 'platform' } }] },
      claims: { org: 'acme' },
    },
  },
  kubernetes: {
    summary: "ToolHive's resources in a cluster",
    value: { kubernetes: { namespaces: ['mcp-servers'] }, claims: { org: 'acme' } },
  },
};
