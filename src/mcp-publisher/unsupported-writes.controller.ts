import { Controller, Delete, Patch, Post, Put } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { AnyCaller } from '../auth/route.js';
import { ApiError } from '../http/errors.js';

const INSTEAD: Readonly<Record<string, string>> = {
  PUT: 'PUT /v1/entries/{type}/{name}/claims, or POST /v1/entries for a new version',
  PATCH: 'PATCH /v1/entries/{type}/{name}/versions/{version}/status',
  DELETE: 'DELETE /v1/entries/{type}/{name}/versions/{version}',
  POST: 'POST /v1/entries',
};

/** The refusal of what is sent below a registry to change something that can't be changed there (contract §6.2). */
export function useAdminApi(method: string): ApiError {
  const instead = INSTEAD[method] ?? 'the routes below /v1/entries';
  return new ApiError('use_admin_api', `Registries are read-only views: use ${instead}`);
}

/** The refusal of a way to log in that only the official registry has, with a sentence that its client shows. */
export function useOtherLogin(): ApiError {
  return new ApiError(
    'use_admin_api',
    'This server issues no tokens: in a workflow log in with github-oidc, elsewhere send POST /v1/entries a token of an identity ' +
      'provider of this server',
  );
}

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
