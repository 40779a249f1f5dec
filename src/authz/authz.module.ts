import { Global, Module } from '@nestjs/common';
import { AccessPolicy, AnonymousPolicy } from './access-policy.js';
import { RolesGuard } from './roles.guard.js';

/** Global because every module below asks the one policy. */
@Global()
@Module({
  providers: [RolesGuard, { provide: AccessPolicy, useClass: AnonymousPolicy }],
  exports: [RolesGuard, AccessPolicy],
})
export class AuthzModule {}
