import {
  type DynamicModule,
  Global,
  Inject,
  Module,
  type OnApplicationShutdown,
  Optional,
} from '@nestjs/common';
import type { Config } from '../config/config.js';
import { oauthInUse } from '../config/oauth-in-use.js';
import { AuthGuard } from './auth.guard.js';
import { AnonymousAuthenticator, Authenticator, TokenAuthenticator } from './authenticator.js';
import { TokenVerifier } from './tokens/token-verifier.js';

/** Global because there is one authenticator, chosen by `auth.mode`, for every module that asks who is calling. */
@Global()
@Module({})
export class AuthModule implements OnApplicationShutdown {
  static with({ auth, insecureUrls }: Config): DynamicModule {
    const oauth = oauthInUse(auth);
    const verifier = oauth ? new TokenVerifier(oauth.providers, insecureUrls) : null;
    return {
      module: AuthModule,
      providers: [
        AuthGuard,
        { provide: TokenVerifier, useValue: verifier },
        {
          provide: Authenticator,
          useValue:
            verifier && oauth ? new TokenAuthenticator(oauth, verifier) : new AnonymousAuthenticator(),
        },
      ],
      exports: [AuthGuard, Authenticator],
    };
  }

  constructor(@Optional() @Inject(TokenVerifier) private readonly verifier: TokenVerifier | null) {}

  async onApplicationShutdown(): Promise<void> {
    await this.verifier?.close();
  }
}
