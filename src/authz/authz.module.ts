import { type DynamicModule, Global, Logger, Module, type OnApplicationBootstrap } from '@nestjs/common';
import type { Config } from '../config/config.js';
import { oauthInUse } from '../config/oauth-in-use.js';
import { AccessPolicy, AnonymousPolicy, AuthOnlyPolicy, FullPolicy } from './access-policy.js';
import { MeController } from './me.controller.js';
import { RolesGuard } from './roles.guard.js';

/** Global because every module below asks the one policy. */
@Global()
@Module({})
export class AuthzModule implements OnApplicationBootstrap {
  static with(config: Config): DynamicModule {
    return {
      module: AuthzModule,
      controllers: [MeController],
      providers: [RolesGuard, { provide: AccessPolicy, useValue: policyFor(config) }],
      exports: [RolesGuard, AccessPolicy],
    };
  }

  constructor(private readonly policy: AccessPolicy) {}

  onApplicationBootstrap(): void {
    // spec §1.2 prescribes the text.
    if (this.policy instanceof AuthOnlyPolicy)
      new Logger('authz').warn(
        'Authorization not configured, per-entry claims filtering disabled (auth-only mode)',
      );
  }
}

function policyFor({ auth }: Config): AccessPolicy {
  if (!oauthInUse(auth)) return new AnonymousPolicy();
  return auth.authz ? new FullPolicy(auth.authz) : new AuthOnlyPolicy();
}
