import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import passport, { type Strategy } from 'passport';
import type { ProviderConfig } from '../../config/config.js';
import type { Caller } from '../caller.js';
import { IntrospectionStrategy } from './introspection.js';
import { jwtStrategy, type TokenRequest, type Verified } from './jwt.strategy.js';
import { KeySet } from './key-set.js';
import { ProviderHttp, ProviderUnavailable } from './provider-http.js';
import { keyFetcher } from './provider-keys.js';
import { jwtRefusal } from './token-claims.js';
import { readJwt, type UnverifiedJwt } from './unverified-jwt.js';

/** Longest time a verified token is remembered; less when it expires or its key goes. */
const REMEMBER_MS = 60_000;
/** Memory for remembered tokens, counted by the length of the token. */
const REMEMBERED_CHARACTERS = 16 * 1024 * 1024;

/** What one provider made of a token, in words for the log. */
export interface Attempt {
  readonly provider: string;
  readonly method: 'jwt' | 'introspection';
  readonly reason: string;
}

export type Verdict =
  | { readonly kind: 'accepted'; readonly caller: Caller }
  | { readonly kind: 'refused'; readonly attempts: readonly Attempt[] }
  /** At least one provider that might accept the token can't be asked. */
  | { readonly kind: 'unavailable'; readonly attempts: readonly Attempt[] };

interface VerifiedProvider {
  readonly config: ProviderConfig;
  readonly http: ProviderHttp;
  readonly jwt: string;
  readonly introspection: { readonly name: string; readonly strategy: IntrospectionStrategy } | null;
}

/** Finds out which of the configured providers vouches for a token: by its keys first, then by asking it (spec §5.2). */
export class TokenVerifier {
  private readonly strategies = new passport.Passport();
  private readonly providers: readonly VerifiedProvider[];
  private readonly remembered = new LRUCache<string, Verified>({
    maxSize: REMEMBERED_CHARACTERS,
    ttl: REMEMBER_MS,
    // The clock is read each time: by default what it said is believed until a timer runs, which may be late.
    ttlResolution: 0,
  });

  constructor(providers: readonly ProviderConfig[], insecureUrls: boolean) {
    this.providers = providers.map((provider) => this.prepare(provider, insecureUrls));
  }

  async verify(token: string): Promise<Verdict> {
    const digest = createHash('sha256').update(token).digest('base64url');
    const known = this.remembered.get(digest);
    if (known && known.expiresAt > Date.now() && known.stands())
      return { kind: 'accepted', caller: known.caller };
    const attempts: Attempt[] = [];
    let unavailable = false;
    for (const { provider, method, strategy, refusal } of this.candidates(token)) {
      const outcome = refusal ?? (await this.ask(strategy, token));
      if (typeof outcome === 'object' && 'caller' in outcome) {
        // Introspection answers have a memory of their own, which also remembers refusals.
        if (method === 'jwt') this.remembered.set(digest, outcome, { size: token.length });
        return { kind: 'accepted', caller: outcome.caller };
      }
      const reason = typeof outcome === 'string' ? outcome : outcome.message;
      attempts.push({ provider: provider.name, method, reason });
      unavailable ||= outcome instanceof ProviderUnavailable;
    }
    return { kind: unavailable ? 'unavailable' : 'refused', attempts };
  }

  async close(): Promise<void> {
    await Promise.all(this.providers.map(({ http }) => http.close()));
  }

  /** Every check that might accept the token, in order, with a refusal where what the token says of itself rules it out. */
  private candidates(token: string): Candidate[] {
    const jwt = readJwt(token);
    const byKeys = this.providers.map(({ config, jwt: strategy }): Candidate => ({
      provider: config,
      method: 'jwt',
      strategy,
      refusal: jwt ? jwtRefusal(jwt.payload, config, Date.now()) : 'the token is no JWT',
    }));
    const byAsking = this.providers.flatMap(({ config, introspection }) =>
      introspection === null
        ? []
        : [
            {
              provider: config,
              method: 'introspection' as const,
              strategy: introspection.name,
              refusal: jwt ? ruledOut(jwt, config) : null,
              remembers: introspection.strategy.remembers(token),
            },
          ],
    );
    // One that vouched for the token already: the others need not be asked, and may be slow.
    const remembering = byAsking.filter(({ remembers }) => remembers);
    return [...byKeys, ...(remembering.length > 0 ? remembering : byAsking)];
  }

  private async ask(strategy: string, token: string): Promise<Verified | Error> {
    return new Promise((resolve) => {
      const request: TokenRequest & { headers: object } = { token, headers: {} };
      const answer = (error: unknown, user: unknown, info: unknown) => {
        if (user) resolve(user as Verified);
        else resolve([error, info].find((one) => one instanceof Error) ?? new Error('the token is refused'));
      };
      this.strategies.authenticate(strategy, { session: false }, answer)(request, {}, () => undefined);
    });
  }

  private prepare(config: ProviderConfig, insecureUrls: boolean): VerifiedProvider {
    const http = new ProviderHttp(config);
    const keys = new KeySet(keyFetcher(config, http, insecureUrls), () => performance.now());
    const use = (method: string, strategy: Strategy) => {
      const name = `${method}:${config.name}`;
      this.strategies.use(name, strategy);
      return name;
    };
    const asking = hasIntrospection(config) ? new IntrospectionStrategy(config, http) : null;
    return {
      config,
      http,
      jwt: use('jwt', jwtStrategy(config, keys)),
      introspection: asking && { name: use('introspection', asking), strategy: asking },
    };
  }
}

interface Candidate {
  readonly provider: ProviderConfig;
  readonly method: Attempt['method'];
  readonly strategy: string;
  readonly refusal: string | null;
}

// A token that names its issuer is shown to that one only: sent to another, it would be given away. And what it says
// of its own end holds whoever is asked.
function ruledOut({ payload }: UnverifiedJwt, { issuerUrl }: ProviderConfig): string | null {
  if (payload['iss'] !== undefined && payload['iss'] !== issuerUrl) return 'the issuer is another one';
  const { exp } = payload;
  return typeof exp === 'number' && exp * 1000 <= Date.now() ? 'the token has expired' : null;
}

function hasIntrospection(
  provider: ProviderConfig,
): provider is ProviderConfig & { readonly introspectionUrl: string } {
  return provider.introspectionUrl !== undefined;
}
