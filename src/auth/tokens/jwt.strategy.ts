import { Strategy, type VerifiedCallback } from 'passport-jwt';
import type { Caller } from '../caller.js';
import type { KeySet, ProviderKey } from './key-set.js';
import { type Expected, jwtRefusal } from './token-claims.js';
import { readJwt } from './unverified-jwt.js';

/** contract §8. Never `none`, never an HMAC: those would take a public key for a secret. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512'] as const;

/** A request as the strategies see it: the token, and nothing else to find one in. */
export interface TokenRequest {
  readonly token: string;
}

/** Who a verified token speaks for, and until when that may be remembered. */
export interface Verified {
  readonly caller: Caller;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** False as soon as what verified the token no longer would. */
  readonly stands: () => boolean;
}

/** Checks JWTs of one provider: signature with one of its keys, then every claim the contract names (§8). */
export function jwtStrategy(expected: Expected, keys: KeySet): Strategy {
  const usedKeys = new WeakMap<object, ProviderKey>();
  return new Strategy(
    {
      jwtFromRequest: (request) => (request as unknown as TokenRequest).token,
      issuer: expected.issuerUrl,
      audience: expected.audience,
      algorithms: [...ALGORITHMS],
      passReqToCallback: true,
      secretOrKeyProvider: (request, token, done) => {
        findKey(token, keys).then(
          (found) => {
            usedKeys.set(request, found);
            done(null, found.key as unknown as string);
          },
          (error: unknown) => done(error),
        );
      },
    },
    (request: object, payload: Record<string, unknown>, done: VerifiedCallback) => {
      // jsonwebtoken lets tokens without expiry, or with one beyond all time, pass.
      const refusal = jwtRefusal(payload, expected, Date.now());
      const key = usedKeys.get(request);
      if (refusal !== null || !key) done(null, false, new Error(refusal ?? 'the key is gone'));
      else
        done(
          null,
          verified(payload, () => keys.holds(key)),
        );
    },
  );
}

/** The caller of claims that were found good; `exp` is there and a number. */
export function verified(claims: Record<string, unknown>, stands: () => boolean): Verified {
  const { sub, client_id: clientId, exp } = claims;
  const named = sub ?? clientId;
  const caller = { subject: typeof named === 'string' ? named : null, claims, identified: true };
  return { caller, expiresAt: typeof exp === 'number' ? exp * 1000 : Infinity, stands };
}

// `jku`, `jwk` and `x5u` are never looked at: keys come from the provider alone.
async function findKey(token: string, keys: KeySet): Promise<ProviderKey> {
  const { header } = readJwt(token) ?? { header: {} };
  const { alg, kid, crit } = header as Record<string, unknown>;
  if (!ALGORITHMS.some((known) => known === alg)) throw new Error('the algorithm is not accepted');
  // RFC 7515 §4.1.11: extensions that are not understood must lead to refusal, and none is understood here.
  if (crit !== undefined) throw new Error('the header demands extensions');
  if (kid !== undefined && typeof kid !== 'string') throw new Error('the key id is malformed');
  const key = await keys.find(kid, alg as string);
  if (!key) throw new Error('the provider has no such key');
  return key;
}
