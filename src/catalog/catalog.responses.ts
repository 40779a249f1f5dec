import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { ENTRY_TYPES } from '../documents/entry-types.js';

export class PageMetadata {
  /** How many rows this page holds. */
  count: number;

  @ApiPropertyOptional({ pattern: '^[A-Za-z0-9_-]+$', description: 'Absent on the last page' })
  nextCursor?: string;
}

export class OfficialMetadata {
  @ApiProperty({ enum: ENTRY_TYPES.server.statuses })
  status: string;

  @ApiProperty({ format: 'date-time' })
  statusChangedAt: string;

  statusMessage?: string;

  @ApiProperty({ format: 'date-time' })
  publishedAt: string;

  @ApiProperty({ format: 'date-time' })
  updatedAt: string;

  isLatest: boolean;
}

/** A server document as it was taken in, keys unknown to this service included. */
export class ServerDocument {
  @ApiPropertyOptional({ name: '$schema', format: 'uri' })
  $schema?: string;

  @ApiProperty({ example: 'io.github.example/weather' })
  name: string;

  description: string;
  version: string;
  title?: string;

  @ApiPropertyOptional({ format: 'uri' })
  websiteUrl?: string;

  @ApiPropertyOptional({ type: 'object', additionalProperties: true })
  repository?: Record<string, unknown>;

  @ApiPropertyOptional({ type: 'array', items: { type: 'object' } })
  icons?: object[];

  @ApiPropertyOptional({ type: 'array', items: { type: 'object' } })
  packages?: object[];

  @ApiPropertyOptional({ type: 'array', items: { type: 'object' } })
  remotes?: object[];

  @ApiPropertyOptional({ type: 'object', additionalProperties: true })
  _meta?: Record<string, unknown>;
}

/** What the registry itself adds to a version. */
export class ItemMetadata {
  'io.modelcontextprotocol.registry/official': OfficialMetadata;
}

export class ServerItem {
  server: ServerDocument;

  _meta: ItemMetadata;
}

export class ServerList {
  servers: ServerItem[];
  metadata: PageMetadata;
}
