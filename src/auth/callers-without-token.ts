import type { Request } from 'express';
import type { Caller } from './caller.js';

/** Finds callers who have sent no token, where a registry is open to them (contract §6.1). */
export abstract class CallersWithoutToken {
  /**
   * @param request a read of a registry, of which it is the one at `:registry`.
   * @returns null where a token is asked for.
   */
  abstract find(request: Request): Promise<Caller | null>;
}
