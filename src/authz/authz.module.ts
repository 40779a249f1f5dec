import { Inject, Module, type OnApplicationBootstrap } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { AuthModule } from '../auth/auth.module.js';
import { authorizationConfig } from '../config/slices.js';
import { AccessPolicy } from './access-policy.js';
import { MeController } from './me.controller.js';
import { OpenAccess } from './admin-access.js';
import { policyFor, PolicyInForce, warnIfAuthOnly } from './policy-in-force.js';
import { ReachableClaimSets } from './reachable-claim-sets.queries.js';
import { RolesGuard } from './roles.guard.js';

type AuthorizationConfig = ConfigType<typeof authorizationConfig>;

/** Provides the access policy of the configured mode. */
@Module({
  imports: [AuthModule],
  controllers: [MeController],
  providers: [
    OpenAccess,
    ReachableClaimSets,
    RolesGuard,
    {
      provide: PolicyInForce,
      useFactory: (auth: AuthorizationConfig) => new PolicyInForce(policyFor(auth)),
      inject: [authorizationConfig.KEY],
    },
    { provide: AccessPolicy, useExisting: PolicyInForce },
  ],
  exports: [AccessPolicy, OpenAccess, PolicyInForce, ReachableClaimSets, RolesGuard],
})
export class AuthzModule implements OnApplicationBootstrap {
  constructor(@Inject(authorizationConfig.KEY) private readonly auth: AuthorizationConfig) {}

  onApplicationBootstrap(): void {
    warnIfAuthOnly(this.auth);
  }
}
