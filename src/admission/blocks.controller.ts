import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put, Query, Res } from '@nestjs/common';
import {
  ApiBody,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
} from '@nestjs/swagger';
import type { Response } from 'express';
import { type Caller, CurrentCaller } from '../auth/caller.js';
import { Audited, RequiresRole } from '../auth/route.js';
import { WritesNothing } from '../authz/roles.guard.js';
import { TakesBody } from '../http/body.js';
import type { JsonText } from '../http/json-answers.js';
import { AdminListParameters } from '../http/lists.dto.js';
import { ApiErrors, ApiIfMatch, ApiOkWithEtag, ApiPutAnswer } from '../http/openapi/api-answers.js';
import { type Preconditions, RequestPreconditions } from '../http/preconditions.js';
import { CurrentRequest, type RequestContext } from '../http/request-context.js';
import { DnsNamePipe } from '../http/validation.pipe.js';
import { BlockBody } from './admission.dto.js';
import { BlockAnswer, BlockList, BlockPreview } from './admission.responses.js';
import { BlocksService } from './blocks.service.js';

const ID = { name: 'id', type: String, description: 'A DNS label', example: 'sec-12' };

@ApiTags('blocks')
@Controller('v1/blocks')
@RequiresRole('superAdmin')
@ApiErrors('database_unavailable', 'database_timeout')
export class BlocksController {
  constructor(private readonly blocks: BlocksService) {}

  @Get()
  @Audited('block.read')
  @ApiOperation({ operationId: 'listBlocks', summary: 'Lists the blocks' })
  @ApiOkWithEtag(BlockList)
  @ApiErrors('invalid_parameter', 'invalid_cursor')
  list(@Query() query: AdminListParameters): Promise<JsonText> {
    return this.blocks.list(query);
  }

  @Post('preview')
  @HttpCode(200)
  @Audited('block.read')
  @WritesNothing(() => true)
  @TakesBody()
  @ApiOperation({
    operationId: 'previewBlock',
    summary: 'Counts the served versions that a block would hold, without writing',
  })
  @ApiBody({ type: BlockBody })
  @ApiOkResponse({ type: BlockPreview })
  @ApiErrors('settings_too_long')
  preview(@Body() body: BlockBody): Promise<BlockPreview> {
    return this.blocks.preview(body);
  }

  @Get(':id')
  @Audited('block.read')
  @ApiOperation({ operationId: 'getBlock', summary: 'Returns one block' })
  @ApiParam(ID)
  @ApiOkWithEtag(BlockAnswer)
  @ApiErrors('malformed_path', 'block_not_found')
  get(@Param('id') id: string): Promise<JsonText> {
    return this.blocks.get(id);
  }

  @Put(':id')
  @Audited('block.update')
  @TakesBody()
  @ApiOperation({
    operationId: 'putBlock',
    summary: 'Creates or replaces a block: matching versions are held in every source immediately',
  })
  @ApiParam(ID)
  @ApiBody({ type: BlockBody })
  @ApiPutAnswer(BlockAnswer)
  @ApiErrors(
    'malformed_path',
    'read_only',
    'storage_full',
    'invalid_name',
    'settings_too_long',
    'too_many_blocks',
  )
  async put(
    @CurrentCaller() caller: Caller,
    @Param('id', DnsNamePipe) id: string,
    @Body() body: BlockBody,
    @RequestPreconditions() preconditions: Preconditions,
    @CurrentRequest() context: RequestContext,
    @Res({ passthrough: true }) response: Response,
  ): Promise<JsonText> {
    const { created, answer } = await this.blocks.put(caller, id, body, preconditions, context);
    response.status(created ? 201 : 200);
    return answer;
  }

  @Delete(':id')
  @Audited('block.delete')
  @HttpCode(204)
  @ApiOperation({
    operationId: 'deleteBlock',
    summary: 'Removes a block; what nothing else holds is served again',
  })
  @ApiParam(ID)
  @ApiNoContentResponse()
  @ApiIfMatch()
  @ApiErrors('malformed_path', 'read_only', 'storage_full', 'block_not_found')
  delete(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @RequestPreconditions() preconditions: Preconditions,
    @CurrentRequest() context: RequestContext,
  ): Promise<void> {
    return this.blocks.remove(caller, id, preconditions, context);
  }
}
