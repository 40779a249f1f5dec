import { Controller } from '@nestjs/common';
import { Route } from '../auth/route.js';
import { ApiError } from '../http/errors.js';

const REPLACEMENTS: Readonly<Record<string, string>> = {
  PUT: 'PUT /v1/entries/{type}/{name}/claims, or POST /v1/entries for a new version',
  PATCH: 'PATCH /v1/entries/{type}/{name}/versions/{version}/status',
  DELETE: 'DELETE /v1/entries/{type}/{name}/versions/{version}',
  POST: 'POST /v1/entries',
};

/** Returns the 501 error for a write that only the admin API supports (reference/publishing). */
export function useAdminApi(method: string): ApiError {
  const instead = REPLACEMENTS[method] ?? 'the routes below /v1/entries';
  return new ApiError('use_admin_api', `Registries are read-only views: use ${instead}`);
}

/**
 * Returns the 501 error for a login method that this mode does not support; `mcp-publisher` shows the error's message.
 */
export function useOtherLogin(isAnonymous: boolean): ApiError {
  return new ApiError(
    'use_admin_api',
    isAnonymous
      ? 'This server is in anonymous mode: log in with none'
      : 'This server issues no tokens: in a GitHub workflow, log in with github-oidc; elsewhere, use POST /v1/entries with a ' +
          'token from one of its identity providers',
  );
}

/**
 * Refuses MCP Registry API writes that `PublisherController` does not support, with an error that mentions the admin
 * API route. The response is the same for every path, so nothing is loaded.
 */
@Controller('registry')
export class UnsupportedWritesController {
  @Route('PUT', '*path', { access: 'caller', audit: null, openApi: false })
  put(): never {
    throw useAdminApi('PUT');
  }

  @Route('PATCH', '*path', { access: 'caller', audit: null, openApi: false })
  patch(): never {
    throw useAdminApi('PATCH');
  }

  @Route('DELETE', '*path', { access: 'caller', audit: null, openApi: false })
  delete(): never {
    throw useAdminApi('DELETE');
  }

  @Route('POST', '*path', { access: 'caller', audit: null, openApi: false })
  post(): never {
    throw useAdminApi('POST');
  }
}
