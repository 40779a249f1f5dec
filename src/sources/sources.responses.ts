import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { CLAIMS_SCHEMA } from '../claims/claim-rules.js';
import { AdminListMetadata } from '../http/lists.dto.js';
import {
  ApiSettings,
  FileSettings,
  GitSettings,
  KubernetesSettings,
  ManagedSettings,
} from '../source-kinds/kind-settings.dto.js';
import { SOURCE_KINDS } from '../source-kinds/kinds.js';
import { EntryFilter, type KindSections, SyncPolicy } from '../source-kinds/source-settings.dto.js';

export class SkippedEntry {
  @ApiProperty({ type: String, nullable: true })
  name: string | null;

  @ApiProperty({ type: String, nullable: true })
  version: string | null;

  /** Each names the path inside the document and the rule. */
  reasons: string[];
}

export class SourceSyncAnswer {
  @ApiProperty({ enum: ['pending', 'syncing', 'complete', 'failed'] })
  status: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  lastAttemptAt: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  lastSuccessAt: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  nextRunAt: string | null;

  @ApiProperty({ type: 'integer', description: 'Runs since the last one that succeeded' })
  attempts: number;

  /** Why the last run failed; the earlier entries stay. */
  error?: string;

  /** Of the last run that wrote: entries, added, changed, removed, unchanged, skipped, filtered. */
  @ApiProperty({ type: 'object', additionalProperties: { type: 'integer' } })
  counts: Record<string, number>;

  /** Entries of the content that are not valid, with the reasons. */
  skipped: SkippedEntry[];
}

/** A source as the configuration declares it, its settings below a key named like its kind. */
export class SourceAnswer implements KindSections {
  name: string;

  @ApiProperty({ enum: SOURCE_KINDS })
  kind: string;

  file?: FileSettings;
  git?: GitSettings;
  api?: ApiSettings;
  managed?: ManagedSettings;
  kubernetes?: KubernetesSettings;
  syncPolicy?: SyncPolicy;

  @ApiPropertyOptional({ type: () => EntryFilter })
  filter?: object;

  @ApiPropertyOptional({ type: Boolean })
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
