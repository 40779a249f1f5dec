import type { NextFunction, Request, Response } from 'express';
import { ApiError } from '../http/errors.js';
import type { RegistryCallers } from '../views/registry-callers.js';

/**
 * contract §6.1: a request with a key that is wrong, or has expired, is answered as one of a registry that does not exist,
 * whatever its method, the rest of its path and its token: before anything looks at them.
 */
export function admitKeys(
  callers: RegistryCallers,
): (request: Request, response: Response, next: NextFunction) => void {
  return (request, _response, next) => {
    const { registryKey } = request;
    if (!registryKey) {
      next();
      return;
    }
    callers.admit(request, registryKey).then(
      (isAdmitted) => next(isAdmitted ? undefined : new ApiError('registry_not_found')),
      (error: unknown) => next(error),
    );
  };
}
