import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn } from 'class-validator';
import { ResourceListParameters } from '../http/lists.dto.js';
import { MayBeEmpty } from '../validation/decorators.js';
import { SYNC_STATUSES, type SyncStatus } from './source.entity.js';

/** reference/sources */
export class SourceListParameters extends ResourceListParameters {
  @ApiPropertyOptional({
    description: 'Only sources whose sync has this status; cursors do not include it',
  })
  @MayBeEmpty()
  @IsIn(SYNC_STATUSES)
  status?: SyncStatus;
}
