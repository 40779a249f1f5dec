import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { statusesOf } from '../documents/statuses.js';
import { documentClassOf } from '../http/openapi/document-classes.js';

export class PageMetadata {
  @ApiProperty({ type: 'integer', description: 'Number of items on this page' })
  count: number;

  @ApiPropertyOptional({ pattern: '^[A-Za-z0-9_-]+$', description: 'Absent on the last page' })
  nextCursor?: string;
}

export class OfficialMetadata {
  @ApiProperty({ enum: [...statusesOf('server')] })
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

/** Metadata that the registry adds to a version. */
export class ItemMetadata {
  'io.modelcontextprotocol.registry/official': OfficialMetadata;
}

export class ServerItem {
  @ApiProperty({ type: documentClassOf('server') })
  server: object;

  _meta: ItemMetadata;
}

export class ServerList {
  servers: ServerItem[];
  metadata: PageMetadata;
}
