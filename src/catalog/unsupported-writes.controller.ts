import { Controller, Delete, Patch, Post, Put } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { AnyCaller } from '../auth/route-access.js';
import { ApiError } from '../http/errors.js';

/**
 * The MCP Registry API lets publishers change entries below the consumer path. Here the admin API does that, and clients
 * written for the MCP Registry API get an error that names it. Nothing is read: the answer is the same for every path.
 */
@ApiExcludeController()
@Controller('registry')
@AnyCaller()
export class UnsupportedWritesController {
  @Put('*path')
  put(): never {
    throw readOnly('PUT /v1/entries/{type}/{name}/claims, or POST /v1/entries for a new version');
  }

  @Patch('*path')
  patch(): never {
    throw readOnly('PATCH /v1/entries/{type}/{name}/versions/{version}/status');
  }

  @Delete('*path')
  delete(): never {
    throw readOnly('DELETE /v1/entries/{type}/{name}/versions/{version}');
  }

  @Post('*path')
  post(): never {
    throw readOnly('POST /v1/entries');
  }
}

function readOnly(instead: string): ApiError {
  return new ApiError('use_admin_api', `Registries are read-only views: use ${instead}`);
}
