import { Controller, Delete, Patch, Post, Put } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { AnyCaller } from '../auth/route.js';
import { useAdminApi } from './use-admin-api.js';

/**
 * What the MCP Registry API lets publishers change below the consumer path, and `PublisherController` does not. Here the admin
 * API does that, and clients written for the MCP Registry API get an error that names it. Nothing is read: the answer is the
 * same for every path.
 */
@ApiExcludeController()
@Controller('registry')
@AnyCaller()
export class UnsupportedWritesController {
  @Put('*path')
  put(): never {
    throw useAdminApi('PUT');
  }

  @Patch('*path')
  patch(): never {
    throw useAdminApi('PATCH');
  }

  @Delete('*path')
  delete(): never {
    throw useAdminApi('DELETE');
  }

  @Post('*path')
  post(): never {
    throw useAdminApi('POST');
  }
}
