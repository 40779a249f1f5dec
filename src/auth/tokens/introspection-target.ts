import type { ProviderConfig } from '../../config/config.js';
import { type Refusal, typeRefusal } from './token-claims.js';
import type { UnverifiedJwt } from './unverified-jwt.js';

/**
 * Why a JWT is not sent to the introspection endpoint of a provider; null when it is. A token that names its issuer is sent to that one
 * only: another would learn it. And what it says of its own type and expiry holds whatever the provider answers.
 */
export function introspectionRuledOut(jwt: UnverifiedJwt, { issuerUrl }: ProviderConfig): Refusal | null {
  const { iss, exp } = jwt.payload;
  if (iss !== undefined && iss !== issuerUrl) return 'the issuer is another one';
  if (typeof exp === 'number' && exp * 1000 <= Date.now()) return 'the token has expired';
  return typeRefusal(jwt.header);
}
