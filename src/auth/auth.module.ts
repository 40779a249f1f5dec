import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { authenticationConfig } from '../config/slices.js';
import { AnonymousAuthenticator, Authenticator, AuthMetrics, TokenAuthenticator } from './auth.guard.js';
import { BlockedCallers, OAuthInForce } from './oauth-in-force.js';
import { TokenVerifier } from './token-verifier.js';

type AuthenticationConfig = ConfigType<typeof authenticationConfig>;

/** Provides the Authenticator for the configured `auth.mode`. */
@Module({
  providers: [
    AuthMetrics,
    { provide: TokenVerifier, useFactory: verifierFor, inject: [authenticationConfig.KEY] },
    {
      provide: BlockedCallers,
      useFactory: ({ oauth }: AuthenticationConfig) => new BlockedCallers(oauth?.blocked),
      inject: [authenticationConfig.KEY],
    },
    {
      provide: OAuthInForce,
      useFactory: (
        { oauth }: AuthenticationConfig,
        verifier: TokenVerifier | null,
        blocked: BlockedCallers,
      ) => new OAuthInForce(oauth, verifier, blocked),
      inject: [authenticationConfig.KEY, TokenVerifier, BlockedCallers],
    },
    {
      provide: Authenticator,
      useFactory: authenticatorFor,
      inject: [authenticationConfig.KEY, TokenVerifier, BlockedCallers, AuthMetrics],
    },
  ],
  exports: [Authenticator, OAuthInForce],
})
export class AuthModule implements OnApplicationShutdown {
  constructor(@Inject(TokenVerifier) private readonly verifier: TokenVerifier | null) {}

  async onApplicationShutdown(): Promise<void> {
    await this.verifier?.close();
  }
}

function verifierFor({ oauth, insecureUrls, proxy }: AuthenticationConfig): TokenVerifier | null {
  return oauth && new TokenVerifier(oauth.providers, { insecureUrls, proxy });
}

function authenticatorFor(
  { oauth }: AuthenticationConfig,
  verifier: TokenVerifier | null,
  blocked: BlockedCallers,
  metrics: AuthMetrics,
): Authenticator {
  return oauth && verifier
    ? new TokenAuthenticator(oauth, verifier, blocked, metrics)
    : new AnonymousAuthenticator();
}
