import type { Request } from 'express';
import type { Authenticator } from '../auth/authenticator.js';
import { readJwt } from '../auth/token-claims.js';
import type { RegistryTokenAnswer } from './publisher.responses.js';

/**
 * What a log-in by the token of a CI provider answers (contract §6.2). Whoever may use a token with this server may use it as it is: what
 * comes back is the same token.
 */
export async function exchangeToken(
  authenticator: Authenticator,
  token: string,
  request: Request,
): Promise<RegistryTokenAnswer> {
  await authenticator.identifyToken(token, request);
  const expiry = readJwt(token)?.payload['exp'];
  return {
    registry_token: token,
    ...(typeof expiry === 'number' ? { expires_at: Math.floor(expiry) } : {}),
  };
}
