import type { Request } from 'express';
import { Strategy, type VerifiedCallback } from 'passport-jwt';
import { tokenFromRequest } from './bearer-token.js';
import type { ProviderKey, ProviderKeys } from './provider-keys.js';
import { type Expected, jwtRefusal, readJwt, type Refusal, typeRefusal } from './token-claims.js';

/** contract §8. Never `none` or HMAC: HMAC would accept a public key as the secret. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512'] as const;

/** Result of a successful verification. */
export interface VerifiedJwt {
  readonly claims: Readonly<Record<string, unknown>>;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** False once the provider has withdrawn the signing key. */
  readonly isCurrent: () => boolean;
}

/**
 * Creates the passport strategy for JWTs of one provider: verifies the signature, then the claims of contract §8. Fails with
 * an Error whose message is the reason; ProviderUnavailable when the keys can't be fetched.
 */
export function jwtStrategy(expected: Expected, keys: ProviderKeys): Strategy {
  const usedKeys = new WeakMap<object, ProviderKey>();
  return new Strategy(
    {
      jwtFromRequest: tokenFromRequest,
      issuer: expected.issuerUrl,
      audience: expected.audience,
      algorithms: [...ALGORITHMS],
      passReqToCallback: true,
      secretOrKeyProvider: (request: Request, token: string, done) => {
        findKey(token, keys).then(
          (found) => {
            usedKeys.set(request, found);
            // jsonwebtoken also accepts a KeyObject; the types of passport-jwt lack it.
            done(null, found.key as unknown as string);
          },
          (error: unknown) => done(error),
        );
      },
    },
    (request: Request, payload: Record<string, unknown>, done: VerifiedCallback) => {
      // jsonwebtoken accepts tokens without expiry, or with an absurdly late one.
      const refusal = jwtRefusal(payload, expected, Date.now());
      const key = usedKeys.get(request);
      if (refusal !== null || !key)
        return done(null, false, refused(refusal ?? 'the signing key was withdrawn'));
      const verified: VerifiedJwt = {
        claims: payload,
        expiresAt: Number(payload['exp']) * 1000,
        isCurrent: () => keys.holds(key),
      };
      done(null, verified);
    },
  );
}

// Ignores `jku`, `jwk` and `x5u`: keys only come from the provider.
async function findKey(token: string, keys: ProviderKeys): Promise<ProviderKey> {
  const { header } = readJwt(token) ?? { header: {} };
  const { alg, kid, crit } = header as Record<string, unknown>;
  const refusal = typeRefusal(header);
  if (refusal !== null) throw refused(refusal);
  if (!ALGORITHMS.some((known) => known === alg)) throw refused('the algorithm is not accepted');
  // RFC 7515 §4.1.11: unsupported extensions must be refused; none is supported here.
  if (crit !== undefined) throw refused('the header requires unsupported extensions');
  if (kid !== undefined && typeof kid !== 'string') throw refused('the key id is malformed');
  const key = await keys.find(kid, alg as string);
  if (!key) throw refused('the provider has no such key');
  return key;
}

function refused(refusal: Refusal): Error {
  return new Error(refusal);
}
