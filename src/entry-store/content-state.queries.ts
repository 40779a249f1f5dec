import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { EntityManager } from 'typeorm';
import { EntryVersion } from './entry.entity.js';

export const CONTENT_STATUSES = ['stored', 'pending', 'failed', 'none'] as const;

/** The content of a version of a skill or plugin (reference/content). */
export class ContentAnswer {
  @ApiProperty({
    enum: CONTENT_STATUSES,
    enumName: 'ContentStatus',
    description:
      '`pending`: it will be fetched; `failed`: fetching it failed and is retried; `none`: nothing is stored, and no package ' +
      'can be fetched',
  })
  status: (typeof CONTENT_STATUSES)[number];

  @ApiPropertyOptional({ description: 'Why the last attempt failed' })
  error?: string;

  @ApiPropertyOptional({ description: 'Digest of the list of files; the ETag of the zip file' })
  digest?: string;

  @ApiPropertyOptional({ type: 'integer', description: 'The size of all files together' })
  bytes?: number;
}

/**
 * SQL expression: the `ContentAnswer` of version `v`, as JSON.
 *
 * @param mayFetch SQL: whether content is fetched at all.
 */
export const contentState = (mayFetch: string) => `(
  select json_strip_nulls(json_build_object(
    'status', case when c.tree is not null then 'stored' when f.fetch_at is null or not ${mayFetch} then 'none'
      when f.error is not null then 'failed' else 'pending' end,
    'error', case when c.tree is null and f.fetch_at is not null and ${mayFetch} then f.error end,
    'digest', encode(c.tree, 'hex'), 'bytes', t.bytes
  ))
  from (select v.id) known
  left join version_content c on c.version_id = known.id
  left join content_tree t on t.digest = c.tree
  left join content_fetch f on f.version_id = known.id
)`;

/** Returns the state of the content of these versions, by version id. */
export async function contentStates(
  manager: EntityManager,
  versionIds: readonly string[],
  mayFetch: boolean,
): Promise<ReadonlyMap<string, ContentAnswer>> {
  const rows = await manager
    .createQueryBuilder(EntryVersion, 'v')
    .select('v.id', 'id')
    .addSelect(contentState(':mayFetch'), 'content')
    .where('v.id = any(:versionIds)', { versionIds, mayFetch })
    .getRawMany<{ id: string; content: ContentAnswer }>();
  return new Map(rows.map(({ id, content }) => [id, content]));
}
