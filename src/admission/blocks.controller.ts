import { Body, Controller, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type Caller, CurrentCaller } from '../auth/caller.js';
import { Route } from '../auth/route.js';
import type { JsonText } from '../http/json-answers.js';
import { AdminListParameters } from '../http/lists.dto.js';
import { type Preconditions, RequestPreconditions } from '../http/preconditions.js';
import { CurrentRequest, type RequestContext } from '../http/request-context.js';
import { DnsNamePipe } from '../http/validation.pipe.js';
import { BlockBody } from './admission.dto.js';
import { BlockAnswer, BlockList, BlockPreview } from './admission.responses.js';
import { BlocksService } from './blocks.service.js';

const ID = { name: 'id', type: String, description: 'A DNS label', example: 'sec-12' };

@ApiTags('blocks')
@Controller('v1/blocks')
export class BlocksController {
  constructor(private readonly blocks: BlocksService) {}

  @Route('GET', '', {
    access: 'superAdmin',
    audit: 'block.read',
    operationId: 'listBlocks',
    summary: 'Lists the blocks',
    answer: BlockList,
    errors: ['invalid_parameter', 'invalid_cursor'],
  })
  list(@Query() query: AdminListParameters): Promise<JsonText> {
    return this.blocks.list(query);
  }

  @Route('POST', 'preview', {
    access: 'superAdmin',
    audit: 'block.read',
    body: BlockBody,
    writesNothing: true,
    operationId: 'previewBlock',
    summary: 'Counts the served versions that a block would hold, without writing',
    answer: BlockPreview,
    errors: ['settings_too_long'],
  })
  preview(@Body() body: BlockBody): Promise<BlockPreview> {
    return this.blocks.preview(body);
  }

  @Route('GET', ':id', {
    access: 'superAdmin',
    audit: 'block.read',
    operationId: 'getBlock',
    summary: 'Returns one block',
    parameters: [ID],
    answer: BlockAnswer,
    errors: ['malformed_path', 'block_not_found'],
  })
  get(@Param('id') id: string): Promise<JsonText> {
    return this.blocks.get(id);
  }

  @Route('PUT', ':id', {
    access: 'superAdmin',
    audit: 'block.update',
    body: BlockBody,
    operationId: 'putBlock',
    summary: 'Creates or replaces a block: matching versions are held in every source immediately',
    parameters: [ID],
    answer: BlockAnswer,
    ifMatch: true,
    errors: ['malformed_path', 'invalid_name', 'settings_too_long', 'too_many_blocks'],
  })
  put(
    @CurrentCaller() caller: Caller,
    @Param('id', DnsNamePipe) id: string,
    @Body() body: BlockBody,
    @RequestPreconditions() preconditions: Preconditions,
    @CurrentRequest() context: RequestContext,
  ): Promise<JsonText> {
    return this.blocks.put(caller, id, body, preconditions, context);
  }

  @Route('DELETE', ':id', {
    access: 'superAdmin',
    audit: 'block.delete',
    operationId: 'deleteBlock',
    summary: 'Removes a block; versions that nothing else holds are served again',
    parameters: [ID],
    answer: null,
    ifMatch: true,
    errors: ['malformed_path', 'block_not_found'],
  })
  delete(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @RequestPreconditions() preconditions: Preconditions,
    @CurrentRequest() context: RequestContext,
  ): Promise<void> {
    return this.blocks.remove(caller, id, preconditions, context);
  }
}
