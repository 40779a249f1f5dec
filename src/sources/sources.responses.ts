import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import type { AuditedForm } from '../audit/audit-trail.js';
import { CLAIMS_SCHEMA } from '../claims/claims.js';
import { MAX_SHOWN_SKIPPED } from '../documents/entry-types.js';
import { AdminListMetadata } from '../http/lists.dto.js';
import { contentTag } from '../http/preconditions.js';
import { AdmissionSettings } from '../source-kinds/admission-settings.dto.js';
import { KINDS, SOURCE_KINDS } from '../source-kinds/kinds.js';
import { SOURCE_FORMATS, type SourceFormat } from '../source-kinds/source-formats.js';
import { withoutSecretFiles } from '../source-kinds/named-files.js';
import type { Plain } from '../json/plain.js';
import { storedIn, toShown } from '../source-kinds/settings-table.js';
import { SOURCE_SETTINGS, SourceSettings } from '../source-kinds/source-settings.dto.js';
import { withoutQuery } from '../validation/redaction.js';
import { type Source, SYNC_STATUSES } from './source.entity.js';

export class SkippedEntry {
  @ApiProperty({ type: String, nullable: true })
  name: string | null;

  @ApiProperty({ type: String, nullable: true })
  version: string | null;

  /** Each reason gives the path in the document and the violated rule. */
  reasons: string[];
}

export class SourceSyncAnswer {
  @ApiProperty({ enum: SYNC_STATUSES })
  status: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  lastAttemptAt: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  lastSuccessAt: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  nextRunAt: string | null;

  @ApiProperty({ type: 'integer', description: 'Runs since the last success' })
  attempts: number;

  /** Why the last run failed; entries from earlier runs remain. */
  error?: string;

  @ApiPropertyOptional({
    enum: SOURCE_FORMATS,
    description: 'The format of the last content; only for git and file sources',
  })
  format?: SourceFormat;

  /** Counts from the last run that wrote entries: entries, added, changed, removed, unchanged, skipped, filtered, held. */
  @ApiProperty({ type: 'object', additionalProperties: { type: 'integer' } })
  counts: Record<string, number>;

  /** Invalid entries, with reasons. */
  skipped: SkippedEntry[];
}

/** A source; its settings are under the name of its kind, as in the configuration. */
export class SourceAnswer extends OmitType(SourceSettings, ['claims', 'admission', 'allowShrink'] as const) {
  name: string;

  @ApiProperty({ enum: SOURCE_KINDS })
  kind: string;

  admission?: AdmissionSettings;

  allowShrink?: boolean;

  @ApiProperty(CLAIMS_SCHEMA)
  claims: object;

  @ApiProperty({ enum: ['config', 'api'] })
  origin: string;

  @ApiProperty({ format: 'date-time' })
  createdAt: string;

  @ApiProperty({ format: 'date-time' })
  updatedAt: string;

  sync?: SourceSyncAnswer | undefined;
}

export class SourceList {
  sources: SourceAnswer[];
  metadata: AdminListMetadata;
}

/** What this server lets the caller create (reference/sources). */
export class SourceKinds {
  @ApiProperty({ enum: SOURCE_KINDS, isArray: true })
  kinds: string[];

  /** Whether sources may read files on the server: `file.path`, passwords and keys. */
  files: boolean;
}

/**
 * Returns the declaration of a source (reference/sources) and its claims for the audit trail, with queries removed from
 * URLs.
 */
export function auditedSource(source: Source, more: object = {}): AuditedForm {
  const text = JSON.stringify(declarationOf(source), (_key, value: unknown) =>
    typeof value === 'string' && /^https?:/i.test(value) && URL.canParse(value) ? withoutQuery(value) : value,
  );
  return { claims: source.shownClaims, form: { ...more, ...(JSON.parse(text) as object) } };
}

/** Returns a source as the admin API shows it (reference/sources). Settings contain no secrets. */
export function describeSource(source: Source): Plain<SourceAnswer> {
  return {
    name: source.name,
    ...declarationOf(source),
    origin: source.origin,
    createdAt: source.createdAt.toISOString(),
    updatedAt: source.updatedAt.toISOString(),
    ...(KINDS[source.kind].filledBy === 'publishing' ? {} : { sync: describeSync(source) }),
  };
}

function declarationOf(source: Source) {
  return {
    kind: source.kind,
    [source.kind]:
      source.origin === 'config' ? withoutSecretFiles(source.kind, source.settings) : source.settings,
    ...toShown(SOURCE_SETTINGS, source, source.origin),
    claims: source.shownClaims,
  };
}

/** Returns the ETag of a source: a digest of everything a PUT may change. */
export function sourceTag(source: Source): string {
  const { kind, settings, shownClaims } = source;
  return contentTag([kind, settings, shownClaims, ...Object.values(storedIn(SOURCE_SETTINGS, source))]);
}

function describeSync({ state }: Source): Plain<SourceAnswer>['sync'] {
  return {
    status: state.status,
    lastAttemptAt: state.lastAttemptAt?.toISOString() ?? null,
    lastSuccessAt: state.lastSuccessAt?.toISOString() ?? null,
    nextRunAt: state.nextRunAt?.toISOString() ?? null,
    attempts: state.attempts,
    ...(state.error === null ? {} : { error: state.error }),
    ...(state.format === null ? {} : { format: state.format }),
    counts: state.counts,
    skipped: state.skipped.slice(0, MAX_SHOWN_SKIPPED),
  };
}
