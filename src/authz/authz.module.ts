import { Logger, Module, type OnApplicationBootstrap } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { authorizationConfig } from '../config/slices.js';
import { AccessPolicy, AuthOnlyPolicy } from './access-policy.js';
import { MeController } from './me.controller.js';
import { policyFor } from './policy-for.js';
import { RolesGuard } from './roles.guard.js';

/** What callers may do: one policy, chosen by the mode of operation. */
@Module({
  imports: [AuthModule],
  controllers: [MeController],
  providers: [
    RolesGuard,
    { provide: AccessPolicy, useFactory: policyFor, inject: [authorizationConfig.KEY] },
  ],
  exports: [RolesGuard, AccessPolicy],
})
export class AuthzModule implements OnApplicationBootstrap {
  constructor(private readonly policy: AccessPolicy) {}

  onApplicationBootstrap(): void {
    // spec §1.2 prescribes the text.
    if (this.policy instanceof AuthOnlyPolicy)
      new Logger('authz').warn(
        'Authorization not configured, per-entry claims filtering disabled (auth-only mode)',
      );
  }
}
