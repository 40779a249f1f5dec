import type { Caller } from '../auth/caller.js';
import type { ResourceUse } from '../auth/route.js';
import type { Claims } from '../claims/claims.js';
import { ApiError } from '../http/errors.js';
import type { AccessPolicy, Recorder } from './access-policy.js';

/** A source or a registry. */
interface Resource {
  readonly claims: Claims;
  readonly origin: 'config' | 'api';
}

/**
 * Whether a source or a registry is there for a caller of the admin API, and whether it may be changed there (contract §3): what is hidden
 * from the caller is not there, and what comes from the configuration file is changed in the file.
 *
 * @param notFound the refusal of what is not there.
 * @throws ApiError 404; 403 `config_managed`.
 */
export function checkAdminAccess<R extends Resource>(
  policy: AccessPolicy,
  caller: Caller,
  resource: R | null,
  use: ResourceUse,
  notFound: 'source_not_found' | 'registry_not_found',
  record?: Recorder,
): asserts resource is R {
  if (!resource || !policy.mayReach(caller, resource.claims, record))
    throw new ApiError(notFound, undefined, undefined, { refusedClaims: resource?.claims });
  if (use !== 'read' && resource.origin === 'config')
    throw new ApiError('config_managed', undefined, undefined, { refusedClaims: resource.claims });
}
